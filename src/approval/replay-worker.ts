/**
 * Runs what was approved, once: claims the record, checks everything again, replays the stored call through the same
 * guarded path with a one-shot token, and writes down what came of it.
 *
 * @module
 */

import { type Clock, delay } from '../clock.ts';
import { isVoiceError } from '../errors.ts';
import { type ToolGateway, type ToolResult, toolResultText } from '../gateway/index.ts';
import type { Logger } from '../observe/index.ts';
import type { ApprovalRow } from '../store/index.ts';
import { type Approvals, MAX_OUTCOME_CHARS } from './approvals.ts';
import { canonicalJson, sha256 } from './canonical-json.ts';
import { objectionTo } from './decision.ts';
import type { Policy } from './policy.ts';
import { type ReplayToken, withReplayToken } from './replay-token.ts';

/** After its deadline a tool is aborted, and gets this long to come back before its outcome is unknown. */
export const ABORT_GRACE_MS = 5000;
/** Runs at the same time. */
export const MAX_RUNNING = 16;

export interface ReplayWorkerOptions {
  readonly approvals: Pick<Approvals, 'store' | 'change' | 'on'>;
  /** The whole gateway: the same path as every call. */
  readonly gateway: Pick<ToolGateway, 'executeTool'>;
  readonly policy: () => Policy;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Names this process among those that share the store; stays the same over its restarts. */
  readonly executor: string;
  /** Whose runs are looked for after a crash, with those of its workers. @defaultValue `executor` */
  readonly recovers?: string;
  readonly toolTimeoutMs: number;
}

export class ReplayWorker {
  readonly #options: ReplayWorkerOptions;
  readonly #running = new Map<string, Promise<void>>();
  readonly #closing = new AbortController();
  #stopListening: () => void = () => {};

  constructor(options: ReplayWorkerOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running.size;
  }

  /** What this process was running when it died is unknown from here on, and nothing runs it again by itself. */
  async recover(): Promise<number> {
    const { approvals, executor, recovers = executor } = this.#options;
    const lost = await approvals.store.listApprovals({
      status: ['executing'],
      executor: recovers,
      limit: 1000,
    });
    let count = 0;
    for (const record of lost) {
      const changed = await approvals.change(
        record.id,
        { status: ['executing'], ...(record.executor === null ? {} : { executor: record.executor }) },
        {
          status: 'unknown',
          finishedAt: this.#options.clock.wallNow(),
          reason: 'the process ended while it ran',
        },
        { kind: 'lost', by: null, input: null },
      );
      if (changed) count++;
    }
    return count;
  }

  /** Runs what is approved already, and from here on what becomes so. */
  async start(): Promise<void> {
    const stops = (['changed', 'changedElsewhere'] as const).map((event) =>
      this.#options.approvals.on(event, (record) => {
        if (record.status === 'approved') void this.execute(record.id);
      }),
    );
    this.#stopListening = () => {
      for (const stop of stops) stop();
    };
    await this.poll();
  }

  /** Looks for what another process approved, or this one before it was stopped. */
  async poll(): Promise<void> {
    const { approvals } = this.#options;
    const approved = await approvals.store.listApprovals({ status: ['approved'], limit: 1000 });
    for (const record of approved.reverse()) void this.execute(record.id);
  }

  /** Takes no more; waits for what runs. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#stopListening();
    await Promise.all(this.#running.values());
  }

  /** Runs one approved request, unless somebody else does or did. Never rejects. */
  execute(id: string): Promise<void> {
    const known = this.#running.get(id);
    if (known) return known;
    // Left in the store; the next poll finds it.
    if (this.#closing.signal.aborted || this.#running.size >= MAX_RUNNING) return Promise.resolve();
    const run = this.#options.clock
      .track(this.#execute(id))
      .catch((error: unknown) => {
        const code = isVoiceError(error) ? error.code : null;
        this.#options.logger.error({ approval: id, code }, 'an approved call could not be run');
      })
      .finally(() => this.#running.delete(id));
    this.#running.set(id, run);
    return run;
  }

  async #execute(id: string): Promise<void> {
    const { approvals, clock, executor } = this.#options;
    const record = await approvals.store.getApproval(id);
    if (record?.status !== 'approved') return;
    const at = clock.wallNow();
    const why = this.#objection(record, at);
    if (why !== null) {
      await approvals.change(
        id,
        { status: ['approved'], generation: record.generation },
        {
          status: why === 'expired' ? 'expired' : 'cancelled',
          reason: why === 'expired' ? null : why,
          finishedAt: at,
        },
        { kind: why === 'expired' ? 'expired' : 'cancelled', by: null, input: null },
      );
      return;
    }
    const claimed = await approvals.change(
      id,
      {
        status: ['approved'],
        generation: record.generation,
        argsHash: record.argsHash,
        notExpiredAt: at,
      },
      { status: 'executing', executor, startedAt: at },
      { kind: 'claimed', by: executor, input: null },
    );
    if (!claimed) return;
    await this.#run(claimed, record.args ?? '');
  }

  /** Everything that was true when it was approved must still be. */
  #objection(record: ApprovalRow, at: number): string | null {
    const policy = this.#options.policy();
    if (record.expiresAt <= at) return 'expired';
    if (record.tenant !== policy.config.deferred.tenant) return 'it belongs to another tenant';
    if (record.args === null || sha256(record.args) !== record.argsHash)
      return 'its arguments are not the approved ones';
    return objectionTo(record, policy);
  }

  async #run(record: ApprovalRow, args: string): Promise<void> {
    const { approvals, clock, gateway, executor, toolTimeoutMs } = this.#options;
    const token: ReplayToken = {
      approvalId: record.id,
      sessionKey: record.sessionKey,
      tool: record.tool,
      argsHash: record.argsHash,
      used: false,
    };
    const abort = new AbortController();
    const done = new AbortController();
    const work = withReplayToken(token, () =>
      gateway.executeTool(record.sessionKey, record.tool, JSON.parse(args), {
        channel: record.channel,
        chatId: record.chatId,
        ...(record.callId === null ? {} : { callId: record.callId }),
        ...(record.toolCallId === null ? {} : { toolCallId: record.toolCallId }),
        signal: abort.signal,
      }),
    ).catch((): ToolResult => ({ content: 'The tool host failed.', isError: true }));
    const late = this.#deadline(toolTimeoutMs, abort, done.signal);
    const result = await settled(work, late).finally(() => done.abort());
    const at = clock.wallNow();
    if (result === null) {
      await approvals.change(
        record.id,
        { status: ['executing'], executor },
        { status: 'unknown', finishedAt: at, reason: 'it did not come back in time' },
        { kind: 'lost', by: null, input: null },
      );
      return;
    }
    const text = toolResultText(result);
    // A gate that answered in the tool's place, or a session whose own policy refused: the tool did not run.
    await approvals.change(
      record.id,
      { status: ['executing'], executor },
      {
        status: result.isError || !token.used ? 'failed' : 'executed',
        finishedAt: at,
        outcome: text.slice(0, MAX_OUTCOME_CHARS),
        ...(token.used ? {} : { reason: 'it was refused before it ran' }),
      },
      { kind: 'executed', by: executor, input: null },
    );
  }

  async #deadline(ms: number, abort: AbortController, done: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    if (!(await delay(clock, ms, done))) return;
    abort.abort();
    await delay(clock, ABORT_GRACE_MS, done);
  }
}

/** What the work gave, or `null` once `late` is over first. Both end: nothing here waits for ever. */
function settled(work: Promise<ToolResult>, late: Promise<void>): Promise<ToolResult | null> {
  return new Promise((resolve) => {
    void work.then(resolve);
    void late.then(() => resolve(null));
  });
}

/** The hash that a call's arguments are known by. @throws VoiceError `REQUEST_INVALID` */
export function argumentsHash(args: Readonly<Record<string, unknown>>): { json: string; hash: string } {
  const json = canonicalJson(args);
  return { json, hash: sha256(json) };
}
