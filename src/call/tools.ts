/**
 * The tool ledger: exactly one output per function call, one continuation per batch, and nothing stale across a
 * reconnect. It decides; running a tool and talking to the model are the conductor's effects.
 *
 * Pure: no I/O, no timers; time comes in as an argument.
 *
 * @module
 */

import { canonicalArguments } from './tool-arguments.ts';
import { type BatchDone, remember, ToolBatches } from './tool-batches.ts';
import { TOOL_TEXT } from './tool-text.ts';

export { MAX_ROUNDS_WITHOUT_CALLER } from './tool-batches.ts';
export { TOOL_TEXT } from './tool-text.ts';

/** Calls of one response; the rest get an error output. */
export const MAX_CALLS_PER_RESPONSE = 32;
/** Calls running at once on one call. */
export const MAX_RUNNING_CALLS = 16;
/** Longest argument text, in characters. */
export const MAX_ARGS_CHARS = 64_000;

/**
 * What an interruption or a hang-up does to a running tool.
 *
 * - `abort`: its signal fires, and nobody waits for it.
 * - `finish`: it runs to its end, silently.
 * - `deliver`: it runs to its end, and what it gave reaches the caller: the model is asked to speak of it, or, after
 *   a hang-up, it goes to the caller's session.
 */
export type ToolEndPolicy = 'abort' | 'finish' | 'deliver';

export interface ToolPolicy {
  readonly timeoutMs: number;
  /** Runs alone: one exclusive call at a time. */
  readonly exclusive: boolean;
  readonly onInterrupt: ToolEndPolicy;
  readonly onHangup: ToolEndPolicy;
}

export interface ToolCall {
  readonly callId: string;
  readonly responseId: string;
  readonly name: string;
  /** JSON text as the model wrote it. */
  readonly args: string;
}

export type ToolEffect =
  | { readonly type: 'run'; readonly call: ToolCall }
  | { readonly type: 'abort'; readonly callId: string }
  /** The one output of a call, for the model's session. */
  | { readonly type: 'output'; readonly callId: string; readonly output: string; readonly isError: boolean }
  /** A result whose session is gone: information, not an output. */
  | { readonly type: 'late'; readonly call: ToolCall; readonly output: string; readonly isError: boolean }
  /** A call that nobody waits for any more was stopped; it is only written down. */
  | { readonly type: 'stopped'; readonly callId: string; readonly output: string }
  | BatchDone;

interface Running {
  readonly call: ToolCall;
  /** Name and arguments; two calls that ask for the same have the same. */
  readonly wish: string;
  readonly policy: ToolPolicy;
  readonly generation: number;
  state: 'queued' | 'running' | 'detached';
  startedAt: number;
}

export class ToolLedger {
  readonly #policyOf: (name: string) => ToolPolicy;
  readonly #running = new Map<string, Running>();
  readonly #batches = new ToolBatches();
  readonly #seen = new Set<string>();
  #generation = 0;

  constructor(policyOf: (name: string) => ToolPolicy) {
    this.#policyOf = policyOf;
  }

  get runningCount(): number {
    return this.#running.size;
  }

  /** Calls whose output the model still waits for. */
  get pendingCount(): number {
    let count = 0;
    for (const each of this.#running.values()) if (each.state !== 'detached') count++;
    return count;
  }

  get batchCount(): number {
    return this.#batches.size;
  }

  isRunning(callId: string): boolean {
    return this.#running.has(callId);
  }

  /** The calls under way, with when they started; for fillers and summaries. */
  running(): { call: ToolCall; startedAt: number; detached: boolean }[] {
    return [...this.#running.values()].map((each) => ({
      call: each.call,
      startedAt: each.startedAt,
      detached: each.state === 'detached',
    }));
  }

  /** The caller said something: the model may work on. */
  callerSpoke(): void {
    this.#batches.callerSpoke();
  }

  /** The model calls a tool. */
  called(call: ToolCall, now: number): ToolEffect[] {
    if (this.#seen.has(call.callId)) {
      // A second output for the same id would be refused by the model; a re-sent call is answered by nothing at all
      // when it is the same call, and can't be answered when it is another.
      return [];
    }
    remember(this.#seen, call.callId);
    const inResponse = this.#batches.opened(call.responseId);
    const args = call.args.length > MAX_ARGS_CHARS ? null : canonicalArguments(call.args);
    const wish = `${call.name} ${args}`;
    const refusal = this.#refusal(call, inResponse, args, wish);
    if (refusal) return this.#output(call, refusal, true);
    const running: Running = {
      call,
      wish,
      policy: this.#policyOf(call.name),
      generation: this.#generation,
      state: 'queued',
      startedAt: now,
    };
    this.#running.set(call.callId, running);
    return this.#startQueued(now);
  }

  /** The model withdrew a call: it is aborted, and its batch does not wait for it. */
  cancelledByModel(callId: string, now: number): ToolEffect[] {
    const running = this.#running.get(callId);
    if (!running || running.state === 'detached') return [];
    this.#running.delete(callId);
    const effects: ToolEffect[] = running.state === 'running' ? [{ type: 'abort', callId }] : [];
    return [...effects, ...this.#batches.closed(running.call.responseId), ...this.#startQueued(now)];
  }

  /** A tool came back. A call that was answered already gives nothing, or a late result when it was detached. */
  finished(callId: string, output: string, isError: boolean, now: number): ToolEffect[] {
    const running = this.#running.get(callId);
    if (!running) return [];
    this.#running.delete(callId);
    const stale = running.generation !== this.#generation;
    const effects: ToolEffect[] =
      running.state === 'detached' || stale
        ? [{ type: 'late', call: running.call, output, isError }]
        : this.#output(running.call, output, isError);
    return [...effects, ...this.#startQueued(now)];
  }

  /** The response that made calls is complete. `cancelled`: the caller or we cut it short. */
  responseDone(responseId: string, cancelled: boolean): ToolEffect[] {
    return this.#batches.responseDone(responseId, cancelled);
  }

  /**
   * The caller interrupts: each running tool meets its policy, and every call gets its output.
   *
   * @param except - the call that says so, when it is one
   */
  interrupted(now: number, except?: string): ToolEffect[] {
    const effects: ToolEffect[] = [];
    const asking = except === undefined ? undefined : this.#running.get(except)?.call.responseId;
    this.#batches.interrupted(asking);
    for (const running of [...this.#running.values()]) {
      if (running.state === 'detached' || running.call.callId === except) continue;
      if (running.state === 'queued' || running.policy.onInterrupt === 'abort') {
        if (running.state === 'running') effects.push({ type: 'abort', callId: running.call.callId });
        const { callId } = running.call;
        this.#running.delete(callId);
        // A call of an earlier session can't be answered in this one, and the caller has moved on from it.
        if (running.generation !== this.#generation)
          effects.push({ type: 'stopped', callId, output: TOOL_TEXT.interrupted });
        else effects.push(...this.#output(running.call, TOOL_TEXT.interrupted, true));
        continue;
      }
      if (running.policy.onInterrupt === 'deliver') this.#batches.delivers(running.call.responseId);
      // `finish` and `deliver`: it runs on and its result becomes the output when it comes. The model sees the call
      // as open meanwhile, so it does not issue it again.
    }
    return [...effects, ...this.#startQueued(now)];
  }

  /** The line is gone. Returns what to abort; what may finish is left running and its result comes as `late`. */
  hungUp(): ToolEffect[] {
    const effects: ToolEffect[] = [];
    for (const running of [...this.#running.values()]) {
      if (running.state === 'queued' || running.policy.onHangup === 'abort') {
        if (running.state !== 'queued') effects.push({ type: 'abort', callId: running.call.callId });
        this.#running.delete(running.call.callId);
      } else running.state = 'detached';
    }
    this.#batches.clear();
    return effects;
  }

  /** A new session of the model: what runs belongs to the old one and comes back as information. */
  newSession(): void {
    this.#generation++;
    this.#batches.clear();
    for (const running of [...this.#running.values()]) {
      if (running.state === 'queued') this.#running.delete(running.call.callId);
    }
  }

  /** When the next deadline is; `null` when nothing runs. */
  nextDeadline(): number | null {
    let next: number | null = null;
    for (const { state, startedAt, policy } of this.#running.values()) {
      if (state === 'queued') continue;
      next = Math.min(next ?? Number.POSITIVE_INFINITY, startedAt + policy.timeoutMs);
    }
    return next;
  }

  /** Deadlines. */
  tick(now: number): ToolEffect[] {
    const effects: ToolEffect[] = [];
    for (const running of [...this.#running.values()]) {
      if (running.state === 'queued' || now - running.startedAt < running.policy.timeoutMs) continue;
      const { callId } = running.call;
      this.#running.delete(callId);
      effects.push({ type: 'abort', callId });
      if (running.state === 'running' && running.generation === this.#generation) {
        effects.push(...this.#output(running.call, TOOL_TEXT.timeout, true));
      } else effects.push({ type: 'late', call: running.call, output: TOOL_TEXT.timeout, isError: true });
    }
    return effects.length > 0 ? [...effects, ...this.#startQueued(now)] : effects;
  }

  #refusal(call: ToolCall, inResponse: number, args: string | null, wish: string): string | null {
    if (this.#batches.isLooping) return TOOL_TEXT.rounds;
    if (inResponse > MAX_CALLS_PER_RESPONSE || this.#running.size >= MAX_RUNNING_CALLS)
      return TOOL_TEXT.tooMany;
    if (call.args.length > MAX_ARGS_CHARS) return TOOL_TEXT.oversized;
    if (args === null) return TOOL_TEXT.malformed;
    // An interrupted model asks again for what it has begun; twice in one response is what it meant.
    const again = [...this.#running.values()].some(
      (each) =>
        each.wish === wish && each.call.responseId !== call.responseId && each.policy.onInterrupt !== 'abort',
    );
    return again ? TOOL_TEXT.underWay : null;
  }

  #startQueued(now: number): ToolEffect[] {
    const effects: ToolEffect[] = [];
    let exclusiveRuns = [...this.#running.values()].some(
      (each) => each.state !== 'queued' && each.policy.exclusive,
    );
    for (const running of this.#running.values()) {
      if (running.state !== 'queued' || (running.policy.exclusive && exclusiveRuns)) continue;
      running.state = 'running';
      running.startedAt = now;
      exclusiveRuns ||= running.policy.exclusive;
      effects.push({ type: 'run', call: running.call });
    }
    return effects;
  }

  #output(call: ToolCall, output: string, isError: boolean): ToolEffect[] {
    const given: ToolEffect = { type: 'output', callId: call.callId, output, isError };
    return [given, ...this.#batches.closed(call.responseId)];
  }
}
