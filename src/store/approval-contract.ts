/**
 * Approvals in the store: records whose every change is a compare-and-set, what happened to each, standing grants.
 *
 * @module
 */

import type { ApprovalGuardStore } from './approval-guard-contract.ts';

/**
 * `pending → approved → executing → executed | failed | unknown`; `pending → denied | expired | cancelled`; an approved
 * record that is too late or no longer allowed when it is to run becomes `expired` or `cancelled`.
 */
export type ApprovalStatus =
  | 'pending'
  | 'approved'
  | 'executing'
  | 'executed'
  | 'failed'
  | 'unknown'
  | 'denied'
  | 'expired'
  | 'cancelled';

export const TERMINAL_APPROVALS: readonly ApprovalStatus[] = [
  'executed',
  'failed',
  'unknown',
  'denied',
  'expired',
  'cancelled',
];

export interface ApprovalRow {
  /** 128-bit random id, hex. */
  readonly id: string;
  readonly tenant: string;
  readonly sessionKey: string;
  readonly channel: string;
  readonly chatId: string;
  readonly callId: string | null;
  readonly toolCallId: string | null;
  readonly tool: string;
  /** Canonical JSON of the arguments; `null` once the record is terminal. */
  readonly args: string | null;
  /** The same with secrets left out; kept. */
  readonly argsShown: string;
  readonly argsHash: string;
  readonly summary: string;
  readonly policyVersion: string;
  /** Who asked, where that is known by name. */
  readonly requester: string | null;
  /** Names of those who may decide; `null`: every approver. */
  readonly approvers: readonly string[] | null;
  readonly mode: 'inline' | 'deferred';
  /** The weakest input that may approve. */
  readonly minInput: 'button' | 'keypad' | 'speech';
  /** Counts the connections that showed it; a decision from an earlier one is stale. */
  readonly generation: number;
  readonly status: ApprovalStatus;
  readonly createdAt: number;
  readonly promptedAt: number | null;
  readonly expiresAt: number;
  readonly decidedAt: number | null;
  readonly decidedBy: string | null;
  readonly decidedInput: string | null;
  readonly reason: string | null;
  readonly grantScope: 'once' | 'call' | 'session' | 'permanent' | null;
  readonly executor: string | null;
  readonly startedAt: number | null;
  readonly finishedAt: number | null;
  /** What the tool gave, cut to a bound. */
  readonly outcome: string | null;
  /** When the outcome reached the session it came from. */
  readonly deliveredAt: number | null;
  /** How a person closed an `unknown` record; closing runs nothing. */
  readonly resolution: 'happened' | 'did_not_happen' | null;
  readonly resolvedBy: string | null;
  readonly resolvedAt: number | null;
  /** Number of its last change; rises over all records and all processes. */
  readonly changeNo: number;
}

export type NewApproval = Pick<
  ApprovalRow,
  | 'id'
  | 'tenant'
  | 'sessionKey'
  | 'channel'
  | 'chatId'
  | 'callId'
  | 'toolCallId'
  | 'tool'
  | 'argsShown'
  | 'argsHash'
  | 'summary'
  | 'policyVersion'
  | 'requester'
  | 'approvers'
  | 'mode'
  | 'minInput'
  | 'createdAt'
  | 'expiresAt'
> & { readonly args: string };

/** What a change needs to be still so. */
export interface ApprovalExpectation {
  readonly status: readonly ApprovalStatus[];
  readonly generation?: number;
  readonly mode?: ApprovalRow['mode'];
  /** The record must not be past its expiry at this time. */
  readonly notExpiredAt?: number;
  /** The record must be past its expiry at this time. */
  readonly expiredAt?: number;
  readonly executor?: string;
  readonly argsHash?: string;
  readonly unresolved?: boolean;
  readonly undelivered?: boolean;
}

export type ApprovalChange = Partial<
  Pick<
    ApprovalRow,
    | 'status'
    | 'mode'
    | 'generation'
    | 'callId'
    | 'promptedAt'
    | 'expiresAt'
    | 'decidedAt'
    | 'decidedBy'
    | 'decidedInput'
    | 'reason'
    | 'grantScope'
    | 'executor'
    | 'startedAt'
    | 'finishedAt'
    | 'outcome'
    | 'deliveredAt'
    | 'resolution'
    | 'resolvedBy'
    | 'resolvedAt'
  >
>;

export type ApprovalEventKind =
  | 'requested'
  | 'prompted'
  | 'decided'
  | 'expired'
  | 'cancelled'
  | 'deferred'
  | 'reconnected'
  | 'claimed'
  | 'executed'
  | 'lost'
  | 'delivered'
  | 'resolved'
  | 'refused';

/** What happened, without arguments, words or digits. */
export interface ApprovalEvent {
  readonly at: number;
  readonly kind: ApprovalEventKind;
  readonly by: string | null;
  readonly input: string | null;
}

export interface ApprovalGrant {
  readonly id: string;
  readonly tenant: string;
  readonly tool: string;
  readonly scope: 'call' | 'session' | 'permanent';
  /** The call's id, the session's key, or an empty text. */
  readonly scopeKey: string;
  /** Canonical JSON of the argument values it is bound to. */
  readonly args: string;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly approvalId: string | null;
}

export interface ListApprovals {
  readonly status?: readonly ApprovalStatus[];
  readonly sessionKey?: string;
  readonly callId?: string;
  readonly expiredAt?: number;
  readonly executor?: string;
  /** Only those whose outcome has not reached its session. */
  readonly undelivered?: boolean;
  readonly limit?: number;
}

/** Hears that another process may have changed something. */
export interface ApprovalWatch {
  /** False once it hears nothing any more. */
  readonly isOpen: boolean;
  close(): Promise<void>;
}

export interface ApprovalStore extends ApprovalGuardStore {
  /** Writes a pending record. @throws VoiceError `STORE_CONFLICT` when the id is taken */
  insertApproval(approval: NewApproval): Promise<ApprovalRow>;
  getApproval(id: string): Promise<ApprovalRow | null>;
  /** Newest first. */
  listApprovals(options?: ListApprovals): Promise<ApprovalRow[]>;
  /** Number of the newest change of all. */
  lastApprovalChange(): Promise<number>;
  /** Records changed since, in the order of their changes, whoever changed them; at most `limit`. */
  listApprovalChanges(since: number, limit: number): Promise<ApprovalRow[]>;
  /** Where an engine can tell: called when anybody changed a record, about as soon as it happened. */
  watchApprovals?(wake: () => void): Promise<ApprovalWatch>;
  /**
   * Compare and set: changes the record if it is still as expected, writes the event in the same transaction, and gives
   * the new record back; `null` when it was not, and then nothing is written. The arguments of a record that becomes
   * terminal are forgotten. A grant is written together with the change that gives it.
   */
  changeApproval(
    id: string,
    expected: ApprovalExpectation,
    change: ApprovalChange,
    event: ApprovalEvent,
    grant?: ApprovalGrant,
  ): Promise<ApprovalRow | null>;
  /** For what changes nothing, e.g. a refused decision; at most `MAX_APPROVAL_EVENTS` each. */
  addApprovalEvent(id: string, event: ApprovalEvent): Promise<void>;
  /** Oldest first. */
  listApprovalEvents(id: string): Promise<ApprovalEvent[]>;
  addGrant(grant: ApprovalGrant): Promise<void>;
  /** Grants of a tool that hold for this call, this session, or for good. */
  listGrants(query: {
    tenant: string;
    tool: string;
    callId: string | null;
    sessionKey: string;
  }): Promise<ApprovalGrant[]>;
  /** Every grant that was not revoked, newest first. */
  listAllGrants(limit: number): Promise<ApprovalGrant[]>;
  /** Whether there was one to revoke. */
  revokeGrants(
    which: { id: string } | { scope: 'call' | 'session'; scopeKey: string },
    at: number,
  ): Promise<boolean>;
}
