/**
 * The fake server's voice detection: loud is speech. It counts the audio it is given, not the time that passes.
 *
 * @module
 */

/** Root mean square, of full scale 1, from which a frame counts as speech: about -40 dB. */
const SPEECH_RMS = 0.01;
const FRAME_MS = 20;
/** Loud frames in a row that make speech, so that a click does not. */
const ONSET_FRAMES = 3;

export type VadEvent =
  | { readonly type: 'started'; readonly audioStartMs: number }
  | { readonly type: 'stopped'; readonly audioEndMs: number };

export class EnergyVad {
  readonly #frameSamples: number;
  #pending = new Int16Array(0);
  #frames = 0;
  #loudInARow = 0;
  #quietInARow = 0;
  #speaking = false;

  readonly sampleRate: number;

  constructor(sampleRate: number) {
    this.sampleRate = sampleRate;
    this.#frameSamples = (sampleRate / 1000) * FRAME_MS;
  }

  /** Audio taken in so far, in ms. */
  get positionMs(): number {
    return this.#frames * FRAME_MS;
  }

  /** @param silenceMs - quiet that ends a turn */
  push(samples: Int16Array, prefixMs: number, silenceMs: number): VadEvent[] {
    const all = new Int16Array(this.#pending.length + samples.length);
    all.set(this.#pending);
    all.set(samples, this.#pending.length);
    const events: VadEvent[] = [];
    let start = 0;
    for (; start + this.#frameSamples <= all.length; start += this.#frameSamples) {
      const event = this.#frame(rms(all, start, this.#frameSamples) >= SPEECH_RMS, prefixMs, silenceMs);
      if (event) events.push(event);
    }
    this.#pending = all.slice(start);
    return events;
  }

  reset(): void {
    this.#pending = new Int16Array(0);
    this.#loudInARow = 0;
    this.#quietInARow = 0;
    this.#speaking = false;
  }

  #frame(loud: boolean, prefixMs: number, silenceMs: number): VadEvent | null {
    this.#frames += 1;
    this.#loudInARow = loud ? this.#loudInARow + 1 : 0;
    this.#quietInARow = loud ? 0 : this.#quietInARow + 1;
    if (!this.#speaking && this.#loudInARow === ONSET_FRAMES) {
      this.#speaking = true;
      const onset = this.positionMs - ONSET_FRAMES * FRAME_MS;
      return { type: 'started', audioStartMs: Math.max(0, onset - prefixMs) };
    }
    if (this.#speaking && this.#quietInARow * FRAME_MS >= silenceMs) {
      this.#speaking = false;
      return { type: 'stopped', audioEndMs: this.positionMs };
    }
    return null;
  }
}

function rms(samples: Int16Array, start: number, length: number): number {
  let sum = 0;
  for (let i = start; i < start + length; i += 1) {
    const value = (samples[i] ?? 0) / 32768;
    sum += value * value;
  }
  return Math.sqrt(sum / length);
}
