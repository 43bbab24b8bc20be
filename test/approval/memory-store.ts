import { VoiceError } from '../../src/errors.ts';
import {
  type ApprovalEvent,
  type ApprovalGrant,
  type ApprovalRow,
  type ApprovalStore,
  type PinLimits,
  type PinTry,
  TERMINAL_APPROVALS,
} from '../../src/store/index.ts';

/** The store's contract in memory, for tests that need hundreds of thousands of changes; the contract suite runs on it too. */
export class MemoryApprovalStore implements ApprovalStore {
  readonly rows = new Map<string, ApprovalRow>();
  readonly events = new Map<string, ApprovalEvent[]>();
  readonly grants = new Map<string, ApprovalGrant & { revokedAt: number | null }>();
  readonly pinTries = new Map<string, PinTry>();
  readonly messages = new Map<string, number>();
  #changes = 0;
  /** Calls of any method: what a gate does without I/O leaves it at 0. */
  operations = 0;
  /** Between the call and the change: lets concurrent callers interleave as on a real store. */
  beforeEach: () => Promise<void> = async () => {};

  async insertApproval(approval: Parameters<ApprovalStore['insertApproval']>[0]): Promise<ApprovalRow> {
    await this.#enter();
    if (this.rows.has(approval.id)) throw new VoiceError('STORE_CONFLICT', 'The row is there already.');
    const row: ApprovalRow = {
      ...approval,
      generation: 0,
      status: 'pending',
      promptedAt: null,
      decidedAt: null,
      decidedBy: null,
      decidedInput: null,
      reason: null,
      grantScope: null,
      executor: null,
      startedAt: null,
      finishedAt: null,
      outcome: null,
      deliveredAt: null,
      resolution: null,
      resolvedBy: null,
      resolvedAt: null,
      changeNo: ++this.#changes,
    };
    this.rows.set(row.id, row);
    this.events.set(row.id, [{ at: row.createdAt, kind: 'requested', by: row.requester, input: null }]);
    return row;
  }

  async getApproval(id: string) {
    await this.#enter();
    return this.rows.get(id) ?? null;
  }

  async listApprovals(options: Parameters<ApprovalStore['listApprovals']>[0] = {}) {
    await this.#enter();
    return [...this.rows.values()]
      .filter(
        (row) =>
          (options.status?.includes(row.status) ?? true) &&
          (options.sessionKey === undefined || row.sessionKey === options.sessionKey) &&
          (options.callId === undefined || row.callId === options.callId) &&
          (options.executor === undefined || row.executor === options.executor) &&
          (options.expiredAt === undefined || row.expiresAt <= options.expiredAt) &&
          (!options.undelivered || row.deliveredAt === null),
      )
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1))
      .slice(0, options.limit ?? 100);
  }

  async changeApproval(...[id, expected, change, event, grant]: Parameters<ApprovalStore['changeApproval']>) {
    await this.#enter();
    const row = this.rows.get(id);
    if (!row || !expected.status.includes(row.status)) return null;
    if (expected.generation !== undefined && row.generation !== expected.generation) return null;
    if (expected.mode !== undefined && row.mode !== expected.mode) return null;
    if (expected.notExpiredAt !== undefined && row.expiresAt <= expected.notExpiredAt) return null;
    if (expected.expiredAt !== undefined && row.expiresAt > expected.expiredAt) return null;
    if (expected.executor !== undefined && row.executor !== expected.executor) return null;
    if (expected.argsHash !== undefined && row.argsHash !== expected.argsHash) return null;
    if (expected.unresolved && row.resolution !== null) return null;
    if (expected.undelivered && row.deliveredAt !== null) return null;
    const terminal = change.status !== undefined && TERMINAL_APPROVALS.includes(change.status);
    const next: ApprovalRow = {
      ...row,
      ...change,
      ...(terminal ? { args: null } : {}),
      changeNo: ++this.#changes,
    };
    this.rows.set(id, next);
    this.#event(id, event);
    if (grant) this.grants.set(grant.id, { ...grant, revokedAt: null });
    return next;
  }

  async addApprovalEvent(id: string, event: ApprovalEvent) {
    await this.#enter();
    this.#event(id, event);
  }

  async listApprovalEvents(id: string) {
    await this.#enter();
    return [...(this.events.get(id) ?? [])];
  }

  async addGrant(grant: ApprovalGrant) {
    await this.#enter();
    this.grants.set(grant.id, { ...grant, revokedAt: null });
  }

  async listGrants(query: Parameters<ApprovalStore['listGrants']>[0]) {
    await this.#enter();
    return this.#live().filter(
      (grant) =>
        grant.tenant === query.tenant &&
        grant.tool === query.tool &&
        (grant.scope === 'permanent' ||
          (grant.scope === 'session' && grant.scopeKey === query.sessionKey) ||
          (grant.scope === 'call' && query.callId !== null && grant.scopeKey === query.callId)),
    );
  }

  async listAllGrants(limit: number) {
    await this.#enter();
    return this.#live().slice(0, limit);
  }

  async revokeGrants(which: Parameters<ApprovalStore['revokeGrants']>[0], at: number) {
    await this.#enter();
    let any = false;
    for (const grant of this.grants.values()) {
      const matches =
        'id' in which
          ? grant.id === which.id
          : grant.scope === which.scope && grant.scopeKey === which.scopeKey;
      if (!matches || grant.revokedAt !== null) continue;
      grant.revokedAt = at;
      any = true;
    }
    return any;
  }

  async lastApprovalChange() {
    await this.#enter();
    return this.#changes;
  }

  async listApprovalChanges(since: number, limit: number) {
    await this.#enter();
    return [...this.rows.values()]
      .filter(({ changeNo }) => changeNo > since)
      .sort((a, b) => a.changeNo - b.changeNo)
      .slice(0, limit);
  }

  async pinSalt() {
    await this.#enter();
    return 'salt';
  }

  async takePinTry(pinTry: PinTry, limits: PinLimits) {
    await this.#enter();
    if (!this.#mayTryPin(pinTry.numberHash, limits)) return false;
    this.pinTries.set(pinTry.id, pinTry);
    return true;
  }

  async forgivePinTry(id: string) {
    await this.#enter();
    this.pinTries.delete(id);
  }

  async mayTryPin(numberHash: string, limits: PinLimits) {
    await this.#enter();
    return this.#mayTryPin(numberHash, limits);
  }

  async rememberMessage(keyHash: string, at: number, max: number) {
    await this.#enter();
    if (this.messages.has(keyHash)) return false;
    this.messages.set(keyHash, at);
    const oldestFirst = [...this.messages].sort((a, b) => a[1] - b[1] || (a[0] < b[0] ? 1 : -1));
    for (const [key] of oldestFirst.slice(0, Math.max(0, oldestFirst.length - max)))
      this.messages.delete(key);
    return true;
  }

  async sweepGuards(olderThan: Parameters<ApprovalStore['sweepGuards']>[0]) {
    await this.#enter();
    let count = 0;
    for (const [id, { at }] of this.pinTries) {
      if (at <= olderThan.pinTries && this.pinTries.delete(id)) count++;
    }
    for (const [key, at] of this.messages) {
      if (at <= olderThan.messages && this.messages.delete(key)) count++;
    }
    return count;
  }

  async close() {}

  #mayTryPin(numberHash: string, limits: PinLimits): boolean {
    const failures = [...this.pinTries.values()].filter(({ at }) => at > limits.since);
    if (failures.length >= limits.inAll) return false;
    return failures.filter((each) => each.numberHash === numberHash).length < limits.perNumber;
  }

  #live(): ApprovalGrant[] {
    return [...this.grants.values()]
      .filter((grant) => grant.revokedAt === null)
      .map(({ revokedAt: _, ...grant }) => grant);
  }

  #event(id: string, event: ApprovalEvent) {
    const list = this.events.get(id) ?? [];
    if (event.kind === 'refused' && list.length >= 200) return;
    list.push(event);
    this.events.set(id, list);
  }

  async #enter() {
    this.operations++;
    await this.beforeEach();
  }
}
