/**
 * The durable truth of calls. One interface, two engines (SQLite in a worker thread, PostgreSQL), the same
 * queries.
 *
 * @module
 */

import type { ApprovalStore } from './approval-contract.ts';
import type { MediaStore } from './media-contract.ts';

export type CallEndReason =
  | 'caller_hangup'
  | 'agent_hangup'
  | 'connection_lost'
  | 'abandoned'
  | 'no_media'
  | 'silence'
  | 'max_duration'
  | 'model_failed'
  | 'backpressure'
  | 'protocol_error'
  | 'shutdown'
  | 'transferred'
  | 'refused'
  | 'crashed';

export interface CallRow {
  /** 128-bit random id, ours. */
  readonly id: string;
  /** `channel:chatId` */
  readonly sessionKey: string;
  readonly carrier: string;
  readonly provider: string;
  readonly identityStrength: 'none' | 'claimed' | 'attested' | 'authenticated';
  /** Epoch ms. */
  readonly startedAt: number;
  readonly endedAt: number | null;
  readonly endReason: CallEndReason | null;
}

export interface ToolOutcome {
  readonly callId: string;
  readonly name: string;
  /** JSON text of the arguments. */
  readonly args: string;
  readonly output: string;
  readonly isError: boolean;
}

/** A row is written when the caller's turn is committed, before its transcript is known. Turn 0 is the call's start. */
export interface TurnRow {
  readonly callId: string;
  readonly turn: number;
  readonly sessionKey: string;
  readonly startedAt: number;
  /** What the caller said, once known. */
  readonly userText: string | null;
  /** What the caller heard of the answer, once it is final. */
  readonly assistantText: string | null;
  readonly tools: readonly ToolOutcome[];
  /** Set once the turn is complete and will not change any more. */
  readonly finalAt: number | null;
}

export interface TurnKey {
  readonly callId: string;
  readonly turn: number;
}

export interface TurnOutcome {
  readonly userText?: string | null;
  readonly assistantText?: string | null;
  /** Appended to what is there; a call id that is there already is not written twice. */
  readonly tools?: readonly ToolOutcome[];
  readonly finalAt?: number;
  /**
   * What becomes of the media that tools of this turn queued: `release` once the model has answered, `drop` when it
   * failed. Left out, it goes out by itself a little later; a final turn's goes out at once.
   */
  readonly replies?: 'release' | 'drop';
}

export interface Store {
  /** @throws VoiceError `STORE_CONFLICT` when the id is taken, `STORE_UNAVAILABLE` */
  beginCall(call: Omit<CallRow, 'endedAt' | 'endReason'>): Promise<void>;
  /** The first end wins; a later one does nothing. Resolves to whether this one did. */
  endCall(id: string, endedAt: number, reason: CallEndReason): Promise<boolean>;
  getCall(id: string): Promise<CallRow | null>;
  /** Newest first; `before`: only those that began before this moment, epoch ms. */
  listCalls(options?: { limit?: number; live?: boolean; before?: number }): Promise<CallRow[]>;
  /**
   * Marks this node's calls that were live when the process died as `crashed` and makes what is left open of
   * their turns final; resolves to how many calls. Only at start, before a call is taken; with `of`, for a worker of this
   * gateway that died, the calls that it had begun by then. A node's name covers its workers' (`name/…`).
   */
  closeStaleCalls(now: number, of?: string): Promise<number>;
  /** Idempotent: the same turn twice is one row. */
  openTurn(turn: { callId: string; turn: number; sessionKey: string; startedAt: number }): Promise<void>;
  /**
   * One transaction: outcome, tools, and what those tools meant to send as rows of the outbox. A final turn takes the
   * same commit again (a retry) and nothing else.
   *
   * @throws VoiceError `STORE_CONFLICT` when the turn was never opened, or is final and this would change it
   */
  commitTurn(callId: string, turn: number, outcome: TurnOutcome): Promise<void>;
  /** Turns of one session, oldest first; the last `limit` of them. */
  listTurns(sessionKey: string, limit: number): Promise<TurnRow[]>;
  /** Final turns that the session files do not hold yet, oldest first; at most `limit`. */
  listUnprojectedTurns(limit: number): Promise<TurnRow[]>;
  /** Records that the session files hold these turns; idempotent. */
  markProjected(turns: readonly TurnKey[]): Promise<void>;
  /** Whether the store answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Everything an open store does. Rooms ask for the part they need. */
export type FullStore = Store & ApprovalStore & MediaStore;
