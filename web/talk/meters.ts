/**
 * How loud both sides are, now and over the last seconds.
 *
 * @module
 */

import { follow, LevelHistory, levelOf } from './level.ts';

export type Side = 'caller' | 'agent';

/** One column of the picture. */
export const COLUMN_MS = 60;
export const COLUMNS = 160;

interface Ear {
  source: MediaStreamAudioSourceNode | null;
  readonly analyser: AnalyserNode;
}

export class Meters {
  readonly history: Readonly<Record<Side, LevelHistory>> = {
    caller: new LevelHistory(COLUMNS),
    agent: new LevelHistory(COLUMNS),
  };
  readonly #shown: Record<Side, number> = { caller: 0, agent: 0 };
  readonly #samples = new Float32Array(2048);
  #audio: AudioContext | null = null;
  #ears: Record<Side, Ear> | null = null;
  #at = 0;

  /** One for the page: browsers allow few. */
  get audio(): AudioContext {
    this.#audio ??= new AudioContext({ latencyHint: 'interactive' });
    return this.#audio;
  }

  /** Sound may only begin with a click: this is called in one. */
  resume(): void {
    if (typeof AudioContext === 'undefined') return;
    void this.audio.resume().catch(() => {});
  }

  listenTo(side: Side, stream: MediaStream): void {
    this.#ears ??= { caller: this.#ear(), agent: this.#ear() };
    const ear = this.#ears[side];
    ear.source?.disconnect();
    ear.source = this.audio.createMediaStreamSource(stream);
    ear.source.connect(ear.analyser);
  }

  stop(): void {
    for (const ear of Object.values(this.#ears ?? {})) {
      ear.source?.disconnect();
      ear.source = null;
    }
    void this.#audio?.suspend().catch(() => {});
  }

  /** Levels to show now, 0 to 1. @param now - ms of the animation's clock */
  look(now: number): Readonly<Record<Side, number>> {
    const elapsed = Math.min(200, now - this.#at);
    this.#at = now;
    for (const side of ['caller', 'agent'] as const)
      this.#shown[side] = follow(this.#shown[side], this.#level(side), elapsed);
    return this.#shown;
  }

  /** Remembers the present levels as one column. */
  remember(): void {
    for (const side of ['caller', 'agent'] as const) this.history[side].push(this.#level(side));
  }

  #level(side: Side): number {
    const ear = this.#ears?.[side];
    if (!ear?.source) return 0;
    ear.analyser.getFloatTimeDomainData(this.#samples);
    return levelOf(this.#samples);
  }

  #ear(): Ear {
    const analyser = this.audio.createAnalyser();
    analyser.fftSize = 2048;
    return { source: null, analyser };
  }
}
