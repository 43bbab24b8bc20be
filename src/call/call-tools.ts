/**
 * The tools of one call: what the ledger decides is done here, and nothing else of the call touches a tool.
 *
 * @module
 */

import { type ToolGateway, toolResultText } from '../gateway/index.ts';
import type { Hangup } from './hangup.ts';
import type { CallNotes } from './notes.ts';
import { type ToolCall, type ToolEffect, ToolLedger, type ToolPolicy } from './tools.ts';
import type { TurnLog } from './turn-log.ts';
import { END_CALL, END_CALL_OUTPUT } from './voice-tools.ts';

/** Between two fillers of one tool, in ms. */
export const FILLER_EVERY_MS = 10_000;

export interface CallToolsOptions {
  readonly gateway: ToolGateway | null;
  readonly sessionKey: string;
  readonly channel: string;
  readonly chatId: string;
  readonly policy: (name: string) => ToolPolicy;
  /** Characters of an output that the model gets. */
  readonly outputChars: number;
  readonly fillerAfterMs: number;
  readonly notes: CallNotes;
  readonly log: TurnLog;
  readonly hangup: Hangup;
  readonly now: () => number;
  /** What the ledger asks of the rest of the call. */
  readonly effects: {
    sendOutput(callId: string, output: string): void;
    /** A result that no open call of the session waits for. */
    addResult(name: string, output: string): void;
    continueAfterTools(interrupted: boolean): void;
    show(callId: string, name: string, phase: 'started' | 'ended', isError: boolean): void;
  };
  /** Whether a response has been heard from: then a goodbye was said. */
  readonly spokeIn: (responseId: string) => boolean;
}

interface Entry {
  readonly call: ToolCall;
  readonly turn: number;
  startedAt: number;
  running: boolean;
}

export class CallTools {
  readonly #options: CallToolsOptions;
  readonly #ledger: ToolLedger;
  readonly #entries = new Map<string, Entry>();
  readonly #aborts = new Map<string, AbortController>();
  #goodbyeWanted = false;
  #lastFillerAt = 0;
  #fillerCount = 0;
  #closed = false;

  constructor(options: CallToolsOptions) {
    this.#options = options;
    this.#ledger = new ToolLedger(options.policy);
  }

  get runningCount(): number {
    return this.#ledger.runningCount;
  }

  called(call: ToolCall): void {
    const now = this.#options.now();
    if (!this.#entries.has(call.callId)) {
      const turn = this.#options.log.turnOfResponse(call.responseId);
      this.#entries.set(call.callId, { call, turn, startedAt: now, running: false });
    }
    this.#apply(this.#ledger.called(call, now));
  }

  cancelledByModel(callId: string): void {
    this.#apply(this.#ledger.cancelledByModel(callId, this.#options.now()));
    this.#forget(callId, 'Cancelled by the model.', true);
  }

  responseDone(responseId: string, cancelled: boolean): void {
    this.#apply(this.#ledger.responseDone(responseId, cancelled));
  }

  callerSpoke(): void {
    this.#ledger.callerSpoke();
  }

  interrupted(): void {
    this.#apply(this.#ledger.interrupted(this.#options.now()));
  }

  newSession(): void {
    this.#ledger.newSession();
  }

  hungUp(): void {
    this.#closed = true;
    this.#apply(this.#ledger.hungUp());
    for (const [callId, entry] of this.#entries) {
      if (!this.#ledger.isRunning(callId)) this.#forget(callId, 'Stopped: the call ended.', true, entry);
    }
  }

  tick(now: number): void {
    this.#apply(this.#ledger.tick(now));
  }

  /**
   * Whether the caller should hear that something is still going on: which filler, counted from 0, or `null`.
   *
   * @param idle - nobody speaks and nothing is about to be said
   */
  filler(now: number, idle: boolean): number | null {
    const waiting = this.#ledger.running().filter((each) => !each.detached);
    if (waiting.length === 0) {
      this.#fillerCount = 0;
      return null;
    }
    if (!idle) return null;
    const since = Math.min(...waiting.map((each) => each.startedAt));
    const wait = this.#fillerCount === 0 ? this.#options.fillerAfterMs : FILLER_EVERY_MS;
    if (now - Math.max(since, this.#lastFillerAt) < wait) return null;
    this.#lastFillerAt = now;
    return this.#fillerCount++;
  }

  #apply(effects: ToolEffect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case 'run':
          this.#run(effect.call);
          break;
        case 'abort':
          this.#aborts.get(effect.callId)?.abort();
          break;
        case 'output':
          if (!this.#closed) this.#options.effects.sendOutput(effect.callId, this.#cut(effect.output));
          this.#forget(effect.callId, effect.output, effect.isError);
          break;
        case 'late':
          if (!this.#closed) this.#options.effects.addResult(effect.call.name, this.#cut(effect.output));
          this.#forget(effect.call.callId, effect.output, effect.isError);
          break;
        case 'stopped':
          this.#forget(effect.callId, effect.output, true);
          break;
        case 'continue': {
          // After a goodbye nothing more is said.
          if (this.#options.hangup.phase === 'closing' && !this.#goodbyeWanted) break;
          this.#goodbyeWanted = false;
          if (!this.#closed) this.#options.effects.continueAfterTools(effect.interrupted);
          break;
        }
        default:
          effect satisfies never;
      }
    }
  }

  #run(call: ToolCall): void {
    const { notes, log, hangup, effects, gateway, sessionKey, channel, chatId } = this.#options;
    const now = this.#options.now();
    const entry = this.#entries.get(call.callId);
    if (entry) {
      entry.startedAt = now;
      entry.running = true;
      log.toolStarted(entry.turn);
    }
    notes.toolStarted(call.name, call.args, now);
    effects.show(call.callId, call.name, 'started', false);
    if (call.name === END_CALL) {
      const spoken = this.#options.spokeIn(call.responseId);
      this.#goodbyeWanted = !spoken;
      hangup.plan('agent_hangup', { final: false, spoken }, now);
      this.#finished(call, spoken ? END_CALL_OUTPUT.ending : END_CALL_OUTPUT.sayGoodbye, false);
      return;
    }
    if (gateway === null) {
      this.#finished(call, 'Error: no tools are available on this call.', true);
      return;
    }
    const abort = new AbortController();
    this.#aborts.set(call.callId, abort);
    // A gateway must not throw; one that does anyway still gives the model its output.
    const failed = () => this.#finished(call, `Error executing ${call.name}: the tool host failed.`, true);
    try {
      gateway
        .executeTool(sessionKey, call.name, call.args, { channel, chatId, signal: abort.signal })
        .then((result) => this.#finished(call, toolResultText(result), result.isError), failed);
    } catch {
      failed();
    }
  }

  #finished(call: ToolCall, output: string, isError: boolean): void {
    this.#aborts.delete(call.callId);
    this.#apply(this.#ledger.finished(call.callId, output, isError, this.#options.now()));
  }

  /** The call has its outcome. */
  #forget(callId: string, output: string, isError: boolean, known?: Entry): void {
    const entry = known ?? this.#entries.get(callId);
    if (!entry) return;
    this.#entries.delete(callId);
    const { call, turn, startedAt, running } = entry;
    const { notes, log, effects } = this.#options;
    if (!running) log.toolStarted(turn);
    log.toolEnded(turn, { callId, name: call.name, args: call.args, output, isError });
    const now = this.#options.now();
    if (!running) notes.toolStarted(call.name, call.args, now);
    notes.toolEnded({ name: call.name, args: call.args, output, isError, startedAt, turn }, now);
    effects.show(callId, call.name, 'ended', isError);
  }

  #cut(output: string): string {
    const limit = this.#options.outputChars;
    if (output === '') return '(tool completed with no output)';
    return output.length <= limit
      ? output
      : `${output.slice(0, limit)}\n[cut: ${output.length - limit} more characters]`;
  }
}
