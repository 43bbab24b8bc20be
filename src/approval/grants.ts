/**
 * Standing grants: for a call, for a session, for good; for a tool as a whole, or bound to argument values.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { ToolGateConfig } from '../config-approvals.ts';
import type { ApprovalGrant, ApprovalRow } from '../store/index.ts';
import { canonicalJson } from './canonical-json.ts';
import { nameMatcher } from './patterns.ts';

type Args = Readonly<Record<string, unknown>>;

/** Whether every value that the grant is bound to is the one of this call. */
export function coversArguments(bound: Args, args: Args): boolean {
  return Object.entries(bound).every(
    ([name, value]) => Object.hasOwn(args, name) && canonicalJson(args[name]) === canonicalJson(value),
  );
}

const NARROWEST_FIRST = ['call', 'session', 'permanent'] as const;

/** The narrowest grant that covers a call; one whose scope can't be read covers nothing. */
export function coveringGrant(grants: readonly ApprovalGrant[], args: Args): ApprovalGrant['scope'] | null {
  const covers = (grant: ApprovalGrant) => {
    try {
      return coversArguments(JSON.parse(grant.args) as Args, args);
    } catch {
      return false;
    }
  };
  return (
    NARROWEST_FIRST.find((scope) => grants.some((grant) => grant.scope === scope && covers(grant))) ?? null
  );
}

/** Whether the config itself grants a call. */
export function isGrantedByConfig(grants: ToolGateConfig['grants'], tool: string, args: Args): boolean {
  return grants.some((grant) => nameMatcher([grant.tool])(tool) && coversArguments(grant.args, args));
}

/**
 * The grant that a decision gives.
 *
 * @param names - arguments whose values it is bound to; one that the call does not have can't be bound, and makes the
 *   grant cover nothing wider: all of the arguments are bound then
 */
export function newGrant(
  record: ApprovalRow,
  scope: ApprovalGrant['scope'],
  by: string,
  at: number,
  names: readonly string[],
): ApprovalGrant {
  const args = JSON.parse(record.args ?? '{}') as Args;
  const bound = names.every((name) => Object.hasOwn(args, name))
    ? Object.fromEntries(names.map((name) => [name, args[name]]))
    : args;
  return {
    id: randomBytes(16).toString('hex'),
    tenant: record.tenant,
    tool: record.tool,
    scope,
    scopeKey: scope === 'call' ? (record.callId ?? record.id) : scope === 'session' ? record.sessionKey : '',
    args: canonicalJson(bound),
    createdAt: at,
    createdBy: by,
    approvalId: record.id,
  };
}
