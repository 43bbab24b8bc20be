/**
 * What is written down about a call as it goes: its record, its latencies, its usage, and the progress that a
 * watcher sees. Nothing here decides anything.
 *
 * @module
 */

import type { SentMedia } from '../media/index.ts';
import type { ModelUsage } from '../model/index.ts';
import { type CallRecord, CallRecorder } from '../observe/index.ts';
import { LatencyMeter } from './latency.ts';
import type { CallOptions } from './options.ts';
import type { ItemHearing } from './playback.ts';
import type { CallProgress } from './progress.ts';
import { UsageMeter } from './usage.ts';

export interface ToolNote {
  readonly name: string;
  readonly args: string;
  readonly output: string;
  readonly isError: boolean;
  readonly startedAt: number;
  readonly turn: number;
}

/** Characters of a tool's output that the record keeps. */
export const MAX_RECORDED_OUTPUT_CHARS = 2000;

export class CallNotes {
  readonly #options: CallOptions;
  readonly #emit: (progress: CallProgress) => void;
  readonly #record = new CallRecorder();
  readonly #latency = new LatencyMeter();
  readonly #itemStartedAt = new Map<string, number>();
  readonly #usage: UsageMeter;
  readonly #startedAt: number;
  readonly #startedWall: number;
  #speechStartAt = 0;

  constructor(options: CallOptions, emit: (progress: CallProgress) => void) {
    this.#options = options;
    this.#emit = emit;
    this.#usage = new UsageMeter(options.parts.config.model.prices);
    this.#startedAt = options.parts.clock.now();
    this.#startedWall = options.parts.clock.wallNow();
  }

  get startedWall(): number {
    return this.#startedWall;
  }

  get counters(): Readonly<Record<string, number>> {
    return this.#record.counters;
  }

  /** Ms since the call's start. */
  at(time: number): number {
    return time - this.#startedAt;
  }

  count(name: string): void {
    this.#record.count(name);
  }

  fault(code: string, now: number): void {
    this.#record.count(`fault_${code}`);
    this.#record.event({ type: 'fault', atMs: this.at(now), code });
    this.#options.parts.logger.warn({ callId: this.#options.id, code }, 'fault on a call');
    this.#emit({ type: 'fault', code });
  }

  callerSpeaks(startAt: number): void {
    this.#speechStartAt = startAt;
    this.#latency.speechStarted();
    this.#emit({ type: 'caller_speaks' });
  }

  callerStops(endAt: number, turn: number): void {
    this.#latency.speechEnded(endAt);
    this.#usage.callerSpoke(Math.max(0, endAt - this.#speechStartAt));
    this.#record.event({
      type: 'caller_speech',
      atMs: this.at(this.#speechStartAt),
      endMs: this.at(endAt),
      text: null,
      turn,
    });
    this.#emit({ type: 'caller_stops' });
  }

  callerSaid(turn: number, text: string): void {
    this.#record.words(turn, text);
    this.#emit({ type: 'caller_said', text });
  }

  keyPressed(now: number): void {
    this.#record.event({ type: 'key', atMs: this.at(now) });
  }

  /** Something reached the caller, or was told of in words. */
  mediaSent(sent: SentMedia, now: number): void {
    this.#record.event({ type: 'media', atMs: this.at(now), ...sent });
    const { kind, caption, route } = sent;
    this.#emit({ type: 'media_sent', kind, caption, route });
  }

  response(turn: number, usage: ModelUsage | undefined): void {
    this.#usage.response(turn, usage);
  }

  /** It was a noise: the agent goes on with what was not heard. */
  resumed(restMs: number, now: number): void {
    // What is gone on with answers nobody.
    this.#latency.speechStarted();
    this.#record.event({ type: 'resumption', atMs: this.at(now), restMs });
    this.#emit({ type: 'resumed', restMs });
  }

  lineIsLost(now: number): void {
    this.#line('lost', now);
  }

  lineIsBack(now: number): void {
    this.#line('back', now);
  }

  /** The first frame of an item of the agent's plays at `playsAt`. */
  agentStarts(itemId: string, playsAt: number, turn: number): void {
    this.#itemStartedAt.set(itemId, playsAt);
    const measured = this.#latency.agentStarted(playsAt);
    if (!measured) return;
    const latencyMs = measured.agentStartAt - measured.speechEndAt;
    const { toolMs } = measured;
    this.#record.latency({
      turn,
      speechEndMs: this.at(measured.speechEndAt),
      agentStartMs: this.at(measured.agentStartAt),
      latencyMs,
      toolMs,
    });
    this.#emit({ type: 'latency', turn, latencyMs, toolMs });
  }

  agentEnded(hearing: ItemHearing, text: string, turn: number, now: number): void {
    const startedAt = this.#itemStartedAt.get(hearing.itemId);
    this.#itemStartedAt.delete(hearing.itemId);
    if (startedAt === undefined || hearing.heardMs === 0) return;
    this.#usage.agentSpoke(hearing.heardMs);
    this.#record.event({
      type: 'agent_speech',
      atMs: this.at(startedAt),
      endMs: this.at(Math.min(now, startedAt + hearing.heardMs)),
      text,
      whole: hearing.whole,
      source: hearing.source === 'verbatim' ? 'verbatim' : 'model',
      turn,
    });
    this.#emit({ type: 'agent_said', text, whole: hearing.whole });
  }

  interrupted(cut: ItemHearing, source: string, now: number): void {
    const { heardMs, receivedMs: itemMs } = cut;
    this.#record.event({ type: 'interruption', atMs: this.at(now), source, heardMs, itemMs });
    this.#emit({ type: 'interrupted', heardMs });
  }

  toolStarted(name: string, args: string, now: number): void {
    this.#latency.toolStarted(now);
    this.#emit({ type: 'tool_started', name, args });
  }

  toolEnded(tool: ToolNote, now: number): void {
    const { name, args, output, isError, startedAt, turn } = tool;
    this.#latency.toolEnded(now);
    this.#record.event({
      type: 'tool',
      atMs: this.at(startedAt),
      endMs: this.at(now),
      name,
      args,
      output: output.slice(0, MAX_RECORDED_OUTPUT_CHARS),
      isError,
      turn,
    });
    this.#emit({ type: 'tool_ended', name, output, isError, tookMs: now - startedAt });
  }

  build(endReason: string, now: number): CallRecord {
    const { parts, info, id } = this.#options;
    return this.#record.build({
      id,
      carrier: info.carrier,
      provider: parts.models.capabilities.provider,
      identityStrength: info.identity.strength,
      startedAt: new Date(this.#startedWall).toISOString(),
      durationMs: this.at(now),
      endReason,
      clock: parts.clock.kind,
      usage: this.#usage.build(),
    });
  }

  #line(state: 'lost' | 'back', now: number): void {
    this.#record.event({ type: 'line', atMs: this.at(now), state });
    this.#emit({ type: 'line', state });
  }
}
