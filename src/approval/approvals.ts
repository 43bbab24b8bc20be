/**
 * The records and what may become of them. Every way to decide (a key, a voice, a button, a message, the command line)
 * ends in `decide`, and every change is a compare-and-set in the store: of two that come at once, one wins.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { Emitter } from '../emitter.ts';
import type { Logger } from '../observe/index.ts';
import type {
  ApprovalChange,
  ApprovalEvent,
  ApprovalExpectation,
  ApprovalGrant,
  ApprovalRow,
  ApprovalStore,
  NewApproval,
} from '../store/index.ts';
import { type DecideResult, type Decision, type GrantScope, refusalOf } from './decision.ts';
import { newGrant } from './grants.ts';
import type { Policy } from './policy.ts';

/** Requests of one session that may wait for a person; one more is refused. */
export const MAX_PENDING_PER_SESSION = 16;
/** Requests in all that may wait. */
export const MAX_PENDING = 1000;
/** Longest reason that is kept. */
export const MAX_REASON_CHARS = 280;
/** Characters of a tool's result that are kept in its record. */
export const MAX_OUTCOME_CHARS = 16_000;
/** How long an approved call of a live conversation may wait for its run to begin. */
export const INLINE_RUN_MS = 60_000;
/** Changes of our own that are known again when the store is followed. */
export const MAX_OWN_CHANGES = 5000;
/** Records looked at in one sweep. */
const SWEEP_BATCH = 500;

export interface ApprovalsEvents {
  /** A record is new or has changed. */
  changed: [record: ApprovalRow];
  /** The same, by another process on the same store. */
  changedElsewhere: [record: ApprovalRow];
}

export interface ApprovalsOptions {
  readonly store: ApprovalStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: () => Policy;
}

/** What a request is made of. */
export type RequestInput = Omit<NewApproval, 'id' | 'createdAt' | 'tenant' | 'policyVersion'>;

export class Approvals extends Emitter<ApprovalsEvents> {
  readonly #options: ApprovalsOptions;
  readonly #own = new Set<number>();

  constructor(options: ApprovalsOptions) {
    super();
    this.#options = options;
    this.onListenerError = () => options.logger.error('a listener of approvals failed');
  }

  get store(): ApprovalStore {
    return this.#options.store;
  }

  /** Writes a pending record; `null` when too many wait already. @throws VoiceError `STORE_UNAVAILABLE` */
  async request(input: RequestInput): Promise<ApprovalRow | null> {
    const { store, policy } = this.#options;
    const pending = await store.listApprovals({
      status: ['pending'],
      sessionKey: input.sessionKey,
      limit: MAX_PENDING_PER_SESSION,
    });
    // A model that asks again for what waits already gets the same request, not a second card.
    const same = pending.find(
      (each) => each.tool === input.tool && each.argsHash === input.argsHash && each.callId === input.callId,
    );
    if (same) return same;
    if (pending.length >= MAX_PENDING_PER_SESSION) return null;
    const all = await store.listApprovals({ status: ['pending'], limit: MAX_PENDING });
    if (all.length >= MAX_PENDING) return null;
    const current = policy();
    const record = await store.insertApproval({
      ...input,
      id: randomBytes(16).toString('hex'),
      createdAt: this.#now(),
      tenant: current.config.deferred.tenant,
      policyVersion: current.version,
    });
    this.#changed(record);
    return record;
  }

  /** The prompt was heard: from here the person's time runs, never past the absolute deadline. */
  prompted(record: ApprovalRow, expiresAt: number): Promise<ApprovalRow | null> {
    const at = this.#now();
    return this.#change(
      record.id,
      { status: ['pending'], generation: record.generation },
      { promptedAt: at, expiresAt: Math.min(expiresAt, record.expiresAt) },
      { at, kind: 'prompted', by: null, input: null },
    );
  }

  /** Decides a request. Says no to whoever may not, without changing anything. */
  async decide(decision: Decision): Promise<DecideResult> {
    const { store } = this.#options;
    const record = await store.getApproval(decision.id);
    if (!record) return { ok: false, why: 'not_found', record: null };
    const why = refusalOf(record, decision, this.#options.policy(), this.#now());
    if (why !== null) {
      const event = { at: this.#now(), kind: 'refused', by: decision.by, input: decision.input } as const;
      if (why !== 'already_decided') await store.addApprovalEvent(record.id, event);
      return { ok: false, why, record };
    }
    const at = this.#now();
    const scope = decision.approve ? (decision.scope ?? 'once') : null;
    const changed = await this.#change(
      record.id,
      {
        status: ['pending'],
        notExpiredAt: at,
        argsHash: record.argsHash,
        generation: decision.generation ?? record.generation,
      },
      {
        status: decision.approve ? 'approved' : 'denied',
        decidedAt: at,
        decidedBy: decision.by,
        decidedInput: decision.input,
        reason: decision.reason?.slice(0, MAX_REASON_CHARS) ?? null,
        grantScope: scope,
        // What is left of a short prompt's time is not what the run may take to begin.
        ...(decision.approve ? { expiresAt: this.#runBy(record, at) } : { finishedAt: at }),
      },
      { at, kind: 'decided', by: decision.by, input: decision.input },
      this.#grant(record, decision, scope, at),
    );
    if (changed) return { ok: true, record: changed };
    const now = await store.getApproval(record.id);
    const late = now !== null && now.status === 'pending' && now.expiresAt <= at;
    return { ok: false, why: late ? 'expired' : 'already_decided', record: now };
  }

  /** Ends a pending request that nobody decided: not a person's no. */
  cancel(record: ApprovalRow, reason: string): Promise<ApprovalRow | null> {
    const at = this.#now();
    return this.#change(
      record.id,
      { status: ['pending'] },
      { status: 'cancelled', reason, finishedAt: at },
      { at, kind: 'cancelled', by: null, input: null },
    );
  }

  /** Too late for a person on the line: silence is not consent. */
  expire(record: ApprovalRow, generation = record.generation): Promise<ApprovalRow | null> {
    const at = this.#now();
    return this.#change(
      record.id,
      { status: ['pending'], generation },
      { status: 'expired', finishedAt: at },
      { at, kind: 'expired', by: null, input: null },
    );
  }

  /** Hands an inline request to the deferred path, under the same id and hash. */
  defer(record: ApprovalRow): Promise<ApprovalRow | null> {
    const at = this.#now();
    const ttl = this.#options.policy().config.deferred.pendingTtlHours * 3_600_000;
    return this.#change(
      record.id,
      { status: ['pending'], mode: 'inline' },
      { mode: 'deferred', generation: record.generation + 1, expiresAt: at + ttl },
      { at, kind: 'deferred', by: null, input: null },
    );
  }

  /** A lost connection: answers of the old one are stale, and the request waits a while for a new one. */
  disconnect(record: ApprovalRow, until: number): Promise<ApprovalRow | null> {
    const at = this.#now();
    return this.#change(
      record.id,
      { status: ['pending'], mode: 'inline' },
      { generation: record.generation + 1, expiresAt: Math.min(until, record.expiresAt) },
      { at, kind: 'cancelled', by: 'connection', input: null },
    );
  }

  /** Binds a waiting request to the connection that shows it now. */
  reconnect(record: ApprovalRow, callId: string, expiresAt: number): Promise<ApprovalRow | null> {
    const at = this.#now();
    return this.#change(
      record.id,
      { status: ['pending'], generation: record.generation, notExpiredAt: at },
      { callId, mode: 'inline', generation: record.generation + 1, expiresAt },
      { at, kind: 'reconnected', by: null, input: null },
    );
  }

  /** A person says what became of a run whose outcome is not known. Runs nothing. */
  resolve(id: string, resolution: 'happened' | 'did_not_happen', by: string): Promise<ApprovalRow | null> {
    const at = this.#now();
    return this.#change(
      id,
      { status: ['unknown'], unresolved: true },
      { resolution, resolvedBy: by, resolvedAt: at },
      { at, kind: 'resolved', by, input: null },
    );
  }

  /** Ends what is past its time. @returns how many */
  async sweep(): Promise<number> {
    const at = this.#now();
    const late = await this.#options.store.listApprovals({
      status: ['pending', 'approved'],
      expiredAt: at,
      limit: SWEEP_BATCH,
    });
    let count = 0;
    for (const record of late) {
      const changed = await this.#change(
        record.id,
        { status: [record.status], expiredAt: at },
        { status: 'expired', finishedAt: at },
        { at, kind: 'expired', by: null, input: null },
      );
      if (changed) count++;
    }
    return count;
  }

  /** Compare and set for the execution worker. */
  change(
    id: string,
    expected: ApprovalExpectation,
    change: ApprovalChange,
    event: Omit<ApprovalEvent, 'at'>,
  ): Promise<ApprovalRow | null> {
    return this.#change(id, expected, change, { at: this.#now(), ...event });
  }

  /** A change as the store tells of it: another process's is passed on, our own was. */
  follow(record: ApprovalRow): void {
    if (!this.#own.delete(record.changeNo)) this.emit('changedElsewhere', record);
  }

  #changed(record: ApprovalRow): void {
    this.#own.add(record.changeNo);
    const [oldest] = this.#own;
    if (this.#own.size > MAX_OWN_CHANGES && oldest !== undefined) this.#own.delete(oldest);
    this.emit('changed', record);
  }

  async #change(
    id: string,
    expected: ApprovalExpectation,
    change: ApprovalChange,
    event: ApprovalEvent,
    grant?: ApprovalGrant,
  ): Promise<ApprovalRow | null> {
    const record = await this.#options.store.changeApproval(id, expected, change, event, grant);
    if (record) this.#changed(record);
    return record;
  }

  #grant(
    record: ApprovalRow,
    decision: Decision,
    scope: GrantScope | null,
    at: number,
  ): ApprovalGrant | undefined {
    if (scope === null || scope === 'once') return undefined;
    const names = decision.bindArguments ?? this.#options.policy().grantArguments(record.tool);
    return newGrant(record, scope, decision.by, at, names);
  }

  #runBy(record: ApprovalRow, at: number): number {
    return record.mode === 'inline' ? Math.max(record.expiresAt, at + INLINE_RUN_MS) : record.expiresAt;
  }

  #now(): number {
    return this.#options.clock.wallNow();
  }
}
