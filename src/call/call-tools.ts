/**
 * The tools of one call: what the ledger decides is done here, and nothing else of the call touches a tool.
 *
 * @module
 */

import type { ClockTimer } from '../clock.ts';
import { toolResultText } from '../gateway/index.ts';
import type { HistoryItem } from '../model/index.ts';
import { type Filler, Fillers, spokenProgress, type WaitingTool } from './fillers.ts';
import { toolModeOf } from './tool-policy.ts';
import { type ToolCall, type ToolEffect, ToolLedger } from './tools.ts';
import { VoiceToolRunner } from './voice-tool-runner.ts';
import { keptArgs } from './voice-tools.ts';
import type { Wiring } from './wiring.ts';

/** Arguments of a call under way that a new session is told. */
const MAX_TOLD_ARGS_CHARS = 300;
const NO_OUTPUT = '(tool completed with no output)';

interface Entry {
  readonly call: ToolCall;
  readonly turn: number;
  startedAt: number;
  running: boolean;
  progress: WaitingTool['progress'];
}

export class CallTools {
  readonly #wiring: Wiring;
  readonly #ledger: ToolLedger;
  readonly #fillers: Fillers;
  readonly #own: VoiceToolRunner;
  readonly #entries = new Map<string, Entry>();
  readonly #aborts = new Map<string, AbortController>();
  #closed = false;
  /** After the call: the next deadline of what was left running. */
  #deadline: ClockTimer | null = null;

  constructor(wiring: Wiring) {
    const { parts } = wiring.options;
    this.#wiring = wiring;
    this.#ledger = new ToolLedger(parts.toolPolicy);
    this.#fillers = new Fillers(parts.config.limits.fillerAfterMs);
    this.#own = new VoiceToolRunner(wiring, (callId) => this.#stop(callId));
  }

  get runningCount(): number {
    return this.#ledger.runningCount;
  }

  called(call: ToolCall): void {
    const now = this.#wiring.now();
    if (!this.#entries.has(call.callId)) {
      const turn = this.#wiring.log.turnOfResponse(call.responseId);
      this.#entries.set(call.callId, { call, turn, startedAt: now, running: false, progress: null });
    }
    this.#apply(this.#ledger.called(call, now));
  }

  cancelledByModel(callId: string): void {
    this.#apply(this.#ledger.cancelledByModel(callId, this.#wiring.now()));
    this.#forget(callId, 'Cancelled by the model.', true);
  }

  responseDone(responseId: string, cancelled: boolean): void {
    this.#apply(this.#ledger.responseDone(responseId, cancelled));
  }

  callerSpoke(): void {
    this.#ledger.callerSpoke();
  }

  interrupted(): void {
    this.#apply(this.#ledger.interrupted(this.#wiring.now()));
  }

  newSession(): void {
    this.#ledger.newSession();
  }

  /** What a new session has to know of calls that it did not make; nothing when none is under way. */
  inFlight(): HistoryItem[] {
    const calls = this.#ledger.running().map(({ call: { name, args } }) => {
      const kept = keptArgs(name, args);
      return `${name} ${kept.length > MAX_TOLD_ARGS_CHARS ? '(long arguments)' : kept}`;
    });
    if (calls.length === 0) return [];
    const text = `These tools were called before and are still running; their results come by themselves. Do not call them again: ${calls.join('; ')}`;
    return [{ role: 'system', text }];
  }

  /** The call is over: what may finish runs on, within its deadline, and nothing of it is held but that. */
  hungUp(): void {
    this.#closed = true;
    this.#apply(this.#ledger.hungUp());
    for (const [callId, entry] of this.#entries) {
      if (!this.#ledger.isRunning(callId)) this.#forget(callId, 'Stopped: the call ended.', true, entry);
    }
    this.#watchDeadline();
  }

  tick(now: number): void {
    this.#apply(this.#ledger.tick(now));
  }

  /**
   * Whether the caller should hear that something is still going on.
   *
   * @param idle - nobody speaks and nothing is about to be said
   */
  filler(now: number, idle: boolean): Filler | null {
    const waiting = this.#ledger
      .running()
      .filter((each) => !each.detached)
      .map(({ call, startedAt }) => ({
        startedAt,
        progress: this.#entries.get(call.callId)?.progress ?? null,
      }));
    return this.#fillers.tick(now, idle, waiting);
  }

  #apply(effects: ToolEffect[]): void {
    const { link, requests, interruptions, floor, session, isFullDuplex } = this.#wiring;
    for (const effect of effects) {
      switch (effect.type) {
        case 'run':
          this.#run(effect.call);
          break;
        case 'abort':
          this.#aborts.get(effect.callId)?.abort();
          break;
        case 'output':
          if (!this.#closed) link.model?.sendToolOutput(effect.callId, this.#cut(effect.output));
          this.#forget(effect.callId, effect.output, effect.isError);
          break;
        case 'late':
          if (!this.#closed) {
            const result = this.#cut(effect.output);
            requests.tell('system', `Result of the earlier call of ${effect.call.name}: ${result}`);
          }
          this.#forget(effect.call.callId, effect.output, effect.isError);
          if (this.#closed) this.#outlived(effect.call, effect.output, effect.isError);
          break;
        case 'stopped':
          this.#forget(effect.callId, effect.output, true);
          break;
        case 'continue': {
          if (isFullDuplex) {
            session.toolsReported(effect.responseId);
            break;
          }
          // After a goodbye nothing more is said.
          if (this.#closed || this.#own.isGoodbyeSaid()) break;
          // What finishes after the caller has moved on and was answered finishes silently; the model has its output.
          if (effect.interrupted && interruptions.isAnswered) break;
          // While the caller speaks, or after they cut the batch short, their own turn brings the response.
          const waits = effect.interrupted || floor.callerSpeaks || interruptions.isOpen;
          requests.ask({ kind: waits ? 'refresh' : 'continuation' });
          break;
        }
        default:
          effect satisfies never;
      }
    }
  }

  #run(call: ToolCall): void {
    const { notes, log, line, now } = this.#wiring;
    const { callId, name } = call;
    const at = now();
    const entry = this.#entries.get(callId);
    if (entry) {
      entry.startedAt = at;
      entry.running = true;
      log.toolStarted(entry.turn);
    }
    notes.toolStarted(name, keptArgs(name, call.args), at);
    line.show({ type: 'tool', callId, name, phase: 'started', args: keptArgs(name, call.args) });
    const abort = new AbortController();
    this.#aborts.set(callId, abort);
    const onProgress = (text: string) => this.#progress(callId, text);
    const turn = entry?.turn;
    const own = this.#own.run(call, {
      signal: abort.signal,
      onProgress,
      ...(turn !== undefined && { turn }),
    });
    if (own === 'unknown') this.#runInHost(call, abort.signal, onProgress);
    else if (own instanceof Promise)
      own.then(
        ({ output, isError }) => this.#finished(call, output, isError),
        () => this.#finished(call, `Error executing ${name}: it failed on this call.`, true),
      );
    else this.#finished(call, own.output, own.isError);
  }

  #runInHost(call: ToolCall, signal: AbortSignal, onProgress: (text: string) => void): void {
    const { parts, sessionKey, chatId } = this.#wiring.options;
    const { gateway, channel, media } = parts;
    if (gateway === null || toolModeOf(parts) === 'delegate') {
      this.#finished(call, `Error: there is no tool ${call.name} on this call.`, true);
      return;
    }
    // A gateway must not throw; one that does anyway still gives the model its output.
    const failed = () => this.#finished(call, `Error executing ${call.name}: the tool host failed.`, true);
    const turn = this.#entries.get(call.callId)?.turn;
    const execute = () =>
      gateway.executeTool(sessionKey, call.name, call.args, {
        channel,
        chatId,
        signal,
        onProgress,
        callId: this.#wiring.options.id,
        toolCallId: call.callId,
        ...(turn !== undefined && { turn }),
      });
    try {
      // What is sent is bound to the caller's turn, which must be in the store by then.
      const result = media?.isMediaTool(call.name) ? this.#wiring.log.flushed().then(execute) : execute();
      result.then((given) => this.#finished(call, toolResultText(given), given.isError), failed);
    } catch {
      failed();
    }
  }

  #progress(callId: string, text: string): void {
    const entry = this.#entries.get(callId);
    const spoken = spokenProgress(String(text));
    if (!entry?.running || spoken === '') return;
    entry.progress = { text: spoken, at: this.#wiring.now() };
    const { name } = entry.call;
    this.#wiring.line.show({ type: 'tool', callId, name, phase: 'progress', output: spoken });
  }

  #finished(call: ToolCall, output: string, isError: boolean): void {
    this.#aborts.delete(call.callId);
    this.#apply(this.#ledger.finished(call.callId, output, isError, this.#wiring.now()));
  }

  /** The caller asks, through the model, that all else stops. Returns the names of what was stopped and of what runs on. */
  #stop(asking: string): { stopped: string[]; left: string[] } {
    const others = this.#ledger.running().filter(({ call, detached }) => call.callId !== asking && !detached);
    this.#apply(this.#ledger.interrupted(this.#wiring.now(), asking));
    const runs = ({ call }: { call: ToolCall }) => this.#ledger.isRunning(call.callId);
    const names = (each: { call: ToolCall }) => each.call.name;
    return {
      stopped: others.filter((each) => !runs(each)).map(names),
      left: others.filter(runs).map(names),
    };
  }

  /** A tool that outlived its call came back. */
  #outlived(call: ToolCall, output: string, isError: boolean): void {
    const { parts, sessionKey, chatId } = this.#wiring.options;
    this.#watchDeadline();
    if (parts.toolPolicy(call.name).onHangup !== 'deliver') return;
    const { name } = call;
    const whole = output || NO_OUTPUT;
    this.#wiring.log.afterwards(`The tool ${name}, begun on the phone, has ended since: ${whole}`);
    parts.deliverLate?.({ sessionKey, chatId, name, output: whole, isError });
  }

  #watchDeadline(): void {
    this.#deadline?.clear();
    this.#deadline = null;
    const next = this.#ledger.nextDeadline();
    if (next === null) return;
    const { clock } = this.#wiring.options.parts;
    this.#deadline = clock.setTimeout(() => {
      this.#deadline = null;
      this.#apply(this.#ledger.tick(clock.now()));
      this.#watchDeadline();
    }, next - clock.now());
  }

  /** The call has its outcome. */
  #forget(callId: string, output: string, isError: boolean, known?: Entry): void {
    const entry = known ?? this.#entries.get(callId);
    if (!entry) return;
    this.#entries.delete(callId);
    const { notes, log, line, now } = this.#wiring;
    const { turn, startedAt, running } = entry;
    const { name } = entry.call;
    const args = keptArgs(name, entry.call.args);
    if (!running) log.toolStarted(turn);
    log.toolEnded(turn, { callId, name, args, output, isError });
    const at = now();
    if (!running) notes.toolStarted(name, args, at);
    notes.toolEnded({ name, args, output, isError, startedAt, turn }, at);
    line.show({ type: 'tool', callId, name, phase: 'ended', output, isError });
  }

  /** What the model gets of an output; the session keeps the whole. */
  #cut(output: string): string {
    const limit = this.#wiring.options.parts.config.limits.toolOutputChars;
    if (output === '') return NO_OUTPUT;
    return output.length <= limit
      ? output
      : `${output.slice(0, limit)}\n[cut: ${output.length - limit} more characters]`;
  }
}
