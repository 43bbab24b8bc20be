/**
 * Requests for approval as a caller's page shows them, and the decision of its buttons.
 *
 * @module
 */

import {
  type ApprovalSystem,
  type Decision,
  type GrantScope,
  nameMatcher,
  OPERATOR,
  REFUSAL_TEXTS,
  refusalOf,
} from '../../approval/index.ts';
import type { Clock } from '../../clock.ts';
import type { PageConfig } from '../../config-page.ts';
import { VoiceError } from '../../errors.ts';
import type { PageEvent } from '../../leg/page/index.ts';
import type { ApprovalRow } from '../../store/index.ts';
import type { PageUser } from './page-access.ts';

/** Name under which a guest decides, where the config lets them. */
export const GUEST = 'guest';
/** Requests shown when a page comes. */
const MAX_SHOWN_REQUESTS = 32;

/** The page's call. */
export interface ApprovalViewer {
  readonly callId: string;
  readonly chatId: string;
  readonly user: PageUser;
}

type ApprovalEvent = Extract<PageEvent, { type: 'approval' }>;

export class PageApprovals {
  readonly #system: ApprovalSystem;
  readonly #config: PageConfig;
  readonly #clock: Clock;
  readonly #mayGuestDecide: (tool: string) => boolean;

  constructor(system: ApprovalSystem, config: PageConfig, clock: Clock) {
    this.#system = system;
    this.#config = config;
    this.#clock = clock;
    this.#mayGuestDecide = nameMatcher(config.guests.decide);
  }

  /** Every change of a record, in this process or another one; gives what ends it. */
  onChanged(listener: (record: ApprovalRow) => void): () => void {
    const { approvals } = this.#system;
    const stops = [approvals.on('changed', listener), approvals.on('changedElsewhere', listener)];
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** What waits for somebody at this page, oldest first. */
  async waiting(viewer: ApprovalViewer): Promise<ApprovalRow[]> {
    const rows = await this.#system.approvals.store.listApprovals({
      status: ['pending', 'approved', 'executing'],
      limit: 1000,
    });
    return rows
      .filter((row) => this.concerns(row, viewer))
      .slice(0, MAX_SHOWN_REQUESTS)
      .reverse();
  }

  /** A guest's page is told of its own call; an owner's also of what the same session is still asked. */
  concerns(record: ApprovalRow, { callId, chatId, user }: ApprovalViewer): boolean {
    if (record.callId === callId) return true;
    return user.role === 'owner' && record.channel === 'realtime' && record.chatId === chatId;
  }

  event(record: ApprovalRow, viewer: ApprovalViewer): ApprovalEvent {
    const decision = this.#decision(record, viewer, true, 'once');
    const canDecide = decision !== null && this.#refusal(record, decision) === null;
    const isOwner = viewer.user.role === 'owner';
    return {
      type: 'approval',
      id: record.id,
      tool: record.tool,
      // A summary quotes arguments: for those who decide.
      summary:
        isOwner || canDecide ? record.summary.slice(0, 2000) : `The agent wants to use ${record.tool}.`,
      status: record.status,
      ...(isOwner && { args: cut(record.argsShown) }),
      canDecide,
      expiresAt: record.status === 'pending' ? record.expiresAt : null,
    };
  }

  /** @throws VoiceError `APPROVAL_NOT_FOUND`, `APPROVAL_REFUSED`, `STORE_UNAVAILABLE` */
  async decide(id: string, approve: boolean, scope: GrantScope, viewer: ApprovalViewer): Promise<void> {
    const record = await this.#system.approvals.store.getApproval(id);
    // Somebody else's request and none at all are the same to this page.
    if (!record || !this.concerns(record, viewer))
      throw new VoiceError('APPROVAL_NOT_FOUND', 'There is no such request on this call.');
    const decision = this.#decision(record, viewer, approve, scope);
    if (!decision) throw new VoiceError('APPROVAL_REFUSED', 'This page may not decide that.');
    const result = await this.#system.approvals.decide(decision);
    if (!result.ok) throw new VoiceError('APPROVAL_REFUSED', REFUSAL_TEXTS[result.why]);
  }

  /** `null` when a button of this page is no input for it. */
  #decision(
    record: ApprovalRow,
    viewer: ApprovalViewer,
    approve: boolean,
    scope: GrantScope,
  ): Decision | null {
    const { config } = this.#system.policy.current;
    if (!config.inline.inputs.includes('button')) return null;
    const { id, generation } = record;
    const shared = { id, approve, scope, input: 'button', generation } as const;
    if (viewer.user.role === 'owner') return { ...shared, by: OPERATOR, sender: this.#config.ownerId };
    if (scope !== 'once' || !this.#mayGuestDecide(record.tool)) return null;
    return { ...shared, by: GUEST, sender: `${record.channel}:${record.chatId}` };
  }

  #refusal(record: ApprovalRow, decision: Decision) {
    return refusalOf(record, decision, this.#system.policy.current, this.#clock.wallNow());
  }
}

function cut(text: string): string {
  return text.length <= 8000 ? text : `${text.slice(0, 8000)}…`;
}
