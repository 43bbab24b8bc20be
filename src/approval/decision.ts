/**
 * A decision, and whether it counts: who may decide what, by which means, and with how wide a grant.
 *
 * @module
 */

import type { ApprovalInput } from '../config-approvals.ts';
import type { ApprovalRow } from '../store/index.ts';
import { isAtLeastInput, type Policy } from './policy.ts';

const INPUTS = ['button', 'keypad', 'speech', 'page', 'command_line', 'message', 'webhook'] as const;
/** How a decision came. The last four are the operator's and as strong as a button. */
export type DecisionInput = (typeof INPUTS)[number];
export type GrantScope = 'once' | 'call' | 'session' | 'permanent';

/** The operator: whoever holds the page's login or the command line's secret. */
export const OPERATOR = 'operator';

export interface Decision {
  readonly id: string;
  readonly approve: boolean;
  /** Name of the approver, or `operator`. */
  readonly by: string;
  readonly input: DecisionInput;
  readonly reason?: string;
  /** @defaultValue once */
  readonly scope?: GrantScope;
  /** Arguments that a grant is bound to; the policy's when left out. */
  readonly bindArguments?: readonly string[];
  /** The connection that showed the prompt; another one's answer is stale. */
  readonly generation?: number;
  /** The decider as the channel of the request would name them, to tell who asked from who decides. */
  readonly sender?: string;
}

export type Refusal =
  | 'not_found'
  | 'already_decided'
  | 'expired'
  | 'not_an_approver'
  | 'own_request'
  | 'input_too_weak'
  | 'scope_not_allowed'
  | 'stale_connection'
  | 'denied_by_policy';

export type DecideResult =
  | { readonly ok: true; readonly record: ApprovalRow }
  | { readonly ok: false; readonly why: Refusal; readonly record: ApprovalRow | null };

/** Why a decision does not count; `null` when it does. */
export function refusalOf(
  record: ApprovalRow,
  decision: Decision,
  policy: Policy,
  now: number,
): Refusal | null {
  if (record.status !== 'pending') return 'already_decided';
  if (record.expiresAt <= now) return 'expired';
  if (decision.generation !== undefined && decision.generation !== record.generation)
    return 'stale_connection';
  if (!mayDecide(decision.by, record, policy)) return 'not_an_approver';
  // Anybody who may decide may say no, by whatever means.
  if (!decision.approve) return null;
  if (policy.config.separateRequester && record.requester !== null) {
    if (record.requester === decision.by || record.requester === decision.sender) return 'own_request';
  }
  if (policy.isDenied(record.tool)) return 'denied_by_policy';
  if (!isStrongEnough(decision.input, record, policy)) return 'input_too_weak';
  return mayGrant(decision, record) ? null : 'scope_not_allowed';
}

/**
 * Whether an approval that was given still counts when its call is to run: the policy may have changed since.
 *
 * @returns why not; `null` when it does
 */
export function objectionTo(record: ApprovalRow, policy: Policy): string | null {
  if (policy.isDenied(record.tool)) return 'the policy forbids it now';
  const { decidedBy, decidedInput } = record;
  if (decidedBy === null || !mayDecide(decidedBy, record, policy)) return 'who approved it may not any more';
  if (policy.config.separateRequester && record.requester === decidedBy)
    return 'who asked for it may not approve it any more';
  // An input that no decision has is as weak as the weakest.
  const input = INPUTS.find((each) => each === decidedInput) ?? 'speech';
  return isStrongEnough(input, record, policy) ? null : 'the policy wants a stronger approval now';
}

function mayDecide(by: string, record: ApprovalRow, { config }: Policy): boolean {
  if (by === OPERATOR) return true;
  if (config.approvers.length > 0 && !config.approvers.some(({ name }) => name === by)) return false;
  return record.approvers?.includes(by) ?? true;
}

function isStrongEnough(input: DecisionInput, record: ApprovalRow, policy: Policy): boolean {
  const strength = strengthOf(input);
  return (
    isAtLeastInput(strength, policy.minimumInput(record.tool)) && isAtLeastInput(strength, record.minInput)
  );
}

function strengthOf(input: DecisionInput): ApprovalInput {
  return input === 'keypad' || input === 'speech' ? input : 'button';
}

/** A grant for good comes from the operator's page or the command line only. */
function mayGrant({ scope = 'once', input }: Decision, record: ApprovalRow): boolean {
  switch (scope) {
    case 'once':
      return true;
    case 'call':
      return record.callId !== null;
    case 'session':
      return input !== 'speech' && input !== 'keypad';
    case 'permanent':
      return input === 'page' || input === 'command_line';
    default:
      return scope satisfies never;
  }
}
