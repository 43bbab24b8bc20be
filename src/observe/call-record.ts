/**
 * The call record: one JSON document that says what happened on a call and when. It holds what was said, so it is
 * written to disk only where the recording of calls is turned on.
 *
 * @module
 */

/** Events of one call; later ones are counted and left out. */
export const MAX_RECORD_EVENTS = 20_000;

/** `atMs`: since the call's start. */
export type CallEvent =
  | {
      readonly type: 'caller_speech';
      readonly atMs: number;
      readonly endMs: number;
      readonly text: string | null;
      readonly turn: number;
    }
  | {
      readonly type: 'agent_speech';
      readonly atMs: number;
      readonly endMs: number;
      readonly text: string;
      readonly whole: boolean;
      readonly source: 'model' | 'verbatim';
      readonly turn: number;
    }
  | {
      readonly type: 'tool';
      readonly atMs: number;
      readonly endMs: number;
      readonly name: string;
      readonly args: string;
      readonly output: string;
      readonly isError: boolean;
      readonly turn: number;
    }
  | {
      readonly type: 'interruption';
      readonly atMs: number;
      readonly source: string;
      readonly heardMs: number;
      readonly itemMs: number;
    }
  /** What interrupted was a noise: the agent goes on with the `restMs` that were not heard. */
  | { readonly type: 'resumption'; readonly atMs: number; readonly restMs: number }
  /** The carrier's stream broke off, or is back. */
  | { readonly type: 'line'; readonly atMs: number; readonly state: 'lost' | 'back' }
  /** Something was sent to the caller, or told of in words (`spoken`). */
  | {
      readonly type: 'media';
      readonly atMs: number;
      readonly kind: string;
      readonly caption: string;
      readonly route: string;
      /** A picture that was shown, as a `data:` address; small ones only. */
      readonly picture?: string;
    }
  | { readonly type: 'key'; readonly atMs: number }
  | { readonly type: 'fault'; readonly atMs: number; readonly code: string };

export interface TurnLatency {
  readonly turn: number;
  /** When the caller stopped speaking. */
  readonly speechEndMs: number;
  /** When the agent's first audio after it began to play. */
  readonly agentStartMs: number;
  readonly latencyMs: number;
  /** Of it: tools. */
  readonly toolMs: number;
}

/** What the model reports of its work, as it counts it. */
export interface ModelWork {
  readonly responses: number;
  /** All tokens in; those of audio and those from the cache are among them. */
  readonly inputTokens: number;
  readonly inputAudioTokens: number;
  readonly cachedInputTokens: number;
  readonly outputTokens: number;
  readonly outputAudioTokens: number;
  /** Of a model that is paid by time. */
  readonly seconds: number;
  /** In the currency of the config's prices; left out where it has none. */
  readonly cost?: number;
}

export interface TurnUsage extends ModelWork {
  readonly turn: number;
}

export interface CallUsage extends ModelWork {
  readonly callerSpeechMs: number;
  readonly agentSpeechMs: number;
  /** Of `cost`. */
  readonly currency?: string;
  /** Turns in which the model reported anything. */
  readonly turns: readonly TurnUsage[];
}

export interface CallRecord {
  readonly version: 1;
  readonly id: string;
  readonly carrier: string;
  readonly provider: string;
  readonly identityStrength: string;
  /** ISO 8601, UTC. */
  readonly startedAt: string;
  readonly durationMs: number;
  readonly endReason: string;
  /** On virtual time, computing takes none of it: latencies hold only what was waited for. */
  readonly clock: 'real' | 'virtual';
  readonly events: readonly CallEvent[];
  readonly eventsLeftOut: number;
  readonly latencies: readonly TurnLatency[];
  readonly usage: CallUsage;
  /** Counters of what went wrong and was survived, by name. */
  readonly counters: Readonly<Record<string, number>>;
}

/** Collects a call's events in bounded memory. All times in ms since the call's start. */
export class CallRecorder {
  readonly #events: CallEvent[] = [];
  readonly #latencies: TurnLatency[] = [];
  readonly #counters: Record<string, number> = {};
  #leftOut = 0;

  get events(): readonly CallEvent[] {
    return this.#events;
  }

  get latencies(): readonly TurnLatency[] {
    return this.#latencies;
  }

  get counters(): Readonly<Record<string, number>> {
    return this.#counters;
  }

  event(event: CallEvent): void {
    if (this.#events.length >= MAX_RECORD_EVENTS) this.#leftOut++;
    else this.#events.push(event);
  }

  /** The caller's words of a turn, once known: they join the speech that is on record already. */
  words(turn: number, text: string): void {
    for (let i = this.#events.length - 1; i >= 0; i--) {
      const event = this.#events[i];
      if (event?.type !== 'caller_speech' || event.turn !== turn) continue;
      this.#events[i] = { ...event, text };
      return;
    }
  }

  latency(latency: TurnLatency): void {
    if (this.#latencies.length < MAX_RECORD_EVENTS) this.#latencies.push(latency);
  }

  count(name: string): void {
    this.#counters[name] = (this.#counters[name] ?? 0) + 1;
  }

  build(
    head: Pick<
      CallRecord,
      | 'id'
      | 'carrier'
      | 'provider'
      | 'identityStrength'
      | 'startedAt'
      | 'durationMs'
      | 'endReason'
      | 'clock'
      | 'usage'
    >,
  ): CallRecord {
    return {
      version: 1,
      ...head,
      events: [...this.#events].sort((a, b) => a.atMs - b.atMs),
      eventsLeftOut: this.#leftOut,
      latencies: this.#latencies,
      counters: { ...this.#counters },
    };
  }
}
