/**
 * From speech probabilities to "started" and "stopped". Pure: its only clock is the count of samples it was
 * told about, so it works at any speed.
 *
 * @module
 */

import { VAD_WINDOW } from './silero.ts';

const WINDOW_MS = VAD_WINDOW / 16;

export interface EndpointerOptions {
  /** Probability from which a window counts as speech. @defaultValue 0.5 */
  readonly startThreshold?: number;
  /** Probability below which a window counts as silence. @defaultValue 0.35 */
  readonly stopThreshold?: number;
  /** Speech shorter than this is a click or a breath. @defaultValue 96 */
  readonly minSpeechMs?: number;
  /** Silence that ends an utterance. @defaultValue 500 */
  readonly silenceMs?: number;
  /** An utterance is cut here, so that noise can't hold the floor for ever. @defaultValue 20000 */
  readonly maxSpeechMs?: number;
}

const DEFAULTS = {
  startThreshold: 0.5,
  stopThreshold: 0.35,
  minSpeechMs: 96,
  silenceMs: 500,
  maxSpeechMs: 20_000,
} as const satisfies Required<EndpointerOptions>;

export type EndpointerEvent =
  /** `atMs`: where speech began, earlier than now by at least `minSpeechMs`. */
  | { readonly type: 'speechStarted'; readonly atMs: number }
  /** `atMs`: where the last speech ended, earlier than now by `silenceMs`. */
  | { readonly type: 'speechStopped'; readonly atMs: number; readonly reason: 'silence' | 'too-long' };

type State =
  | { readonly name: 'silence' }
  /** Speech since `startMs`, not yet long enough to count. */
  | { readonly name: 'maybe'; readonly startMs: number }
  /** In an utterance; silent since `silentSinceMs`, unless `null`. */
  | { readonly name: 'speech'; readonly startMs: number; readonly silentSinceMs: number | null };

export class Endpointer {
  readonly #options: Required<EndpointerOptions>;
  #state: State = { name: 'silence' };
  #nowMs = 0;

  constructor(options?: EndpointerOptions) {
    this.#options = { ...DEFAULTS, ...options };
  }

  get speaking(): boolean {
    return this.#state.name === 'speech';
  }

  /** Length of all windows so far: the clock of `atMs`. */
  get nowMs(): number {
    return this.#nowMs;
  }

  /** Takes the probability of the next 32 ms window. */
  push(probability: number): EndpointerEvent | null {
    const windowStartMs = this.#nowMs;
    this.#nowMs += WINDOW_MS;
    switch (this.#state.name) {
      case 'silence':
      case 'maybe':
        return this.#beforeSpeech(this.#state, probability, windowStartMs);
      case 'speech':
        return this.#inSpeech(this.#state, probability, windowStartMs);
      default:
        return this.#state satisfies never;
    }
  }

  /** Forgets an utterance under way; the clock runs on. */
  reset(): void {
    this.#state = { name: 'silence' };
  }

  #beforeSpeech(
    state: { readonly name: 'silence' } | { readonly name: 'maybe'; readonly startMs: number },
    probability: number,
    windowStartMs: number,
  ): EndpointerEvent | null {
    const { startThreshold, stopThreshold, minSpeechMs } = this.#options;
    if (probability < (state.name === 'maybe' ? stopThreshold : startThreshold)) {
      this.#state = { name: 'silence' };
      return null;
    }
    const startMs = state.name === 'maybe' ? state.startMs : windowStartMs;
    if (this.#nowMs - startMs < minSpeechMs) {
      this.#state = { name: 'maybe', startMs };
      return null;
    }
    this.#state = { name: 'speech', startMs, silentSinceMs: null };
    return { type: 'speechStarted', atMs: startMs };
  }

  #inSpeech(
    state: Extract<State, { name: 'speech' }>,
    probability: number,
    windowStartMs: number,
  ): EndpointerEvent | null {
    const { startThreshold, stopThreshold, silenceMs, maxSpeechMs } = this.#options;
    let { silentSinceMs } = state;
    // Between the thresholds nothing changes: a faint word end neither stops nor restarts the hangover.
    if (probability >= startThreshold) silentSinceMs = null;
    else if (probability < stopThreshold) silentSinceMs ??= windowStartMs;

    if (silentSinceMs !== null && this.#nowMs - silentSinceMs >= silenceMs) {
      this.#state = { name: 'silence' };
      return { type: 'speechStopped', atMs: silentSinceMs, reason: 'silence' };
    }
    if (this.#nowMs - state.startMs >= maxSpeechMs) {
      this.#state = { name: 'silence' };
      return { type: 'speechStopped', atMs: this.#nowMs, reason: 'too-long' };
    }
    this.#state = { name: 'speech', startMs: state.startMs, silentSinceMs };
    return null;
  }
}
