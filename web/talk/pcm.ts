/**
 * Sound as numbers for the fallback without WebRTC: another rate, frames, and the wait before it is played. Runs in an
 * audio worklet: no allocation that grows, nothing asynchronous.
 *
 * @module
 */

/** What the fallback's socket carries: 16-bit, mono, 20 ms a message. */
export const SOCKET_RATE = 24_000;
export const SOCKET_FRAME_SAMPLES = 480;

/** Zero crossings on each side of the filter: 60 dB and a delay under 2 ms at 16 kHz. */
const HALF_TAPS = 12;
const PHASES = 256;

/** Streaming change of rate by a windowed sinc. */
export class Resampler {
  readonly #step: number;
  readonly #width: number;
  readonly #table: Float32Array;
  #kept: Float32Array;
  /** Where the next output sample lies, in samples of what is kept. */
  #at: number;

  constructor(from: number, to: number) {
    this.#step = from / to;
    const cutoff = Math.min(1, to / from) * 0.92;
    this.#width = Math.ceil(HALF_TAPS / cutoff);
    this.#table = new Float32Array((2 * this.#width + 1) * (PHASES + 1));
    for (let phase = 0; phase <= PHASES; phase++) {
      const row = phase * (2 * this.#width + 1);
      let sum = 0;
      for (let tap = -this.#width; tap <= this.#width; tap++) {
        const x = tap - phase / PHASES;
        const window = Math.abs(x) > this.#width ? 0 : 0.5 + 0.5 * Math.cos((Math.PI * x) / this.#width);
        const sinc = x === 0 ? 1 : Math.sin(Math.PI * x * cutoff) / (Math.PI * x * cutoff);
        this.#table[row + tap + this.#width] = sinc * window;
        sum += sinc * window;
      }
      for (let i = 0; i <= 2 * this.#width; i++) this.#table[row + i] = (this.#table[row + i] ?? 0) / sum;
    }
    this.#kept = new Float32Array(2 * this.#width);
    this.#at = this.#width;
  }

  /** All output that the input so far allows. */
  push(input: Float32Array): Float32Array {
    const all = new Float32Array(this.#kept.length + input.length);
    all.set(this.#kept);
    all.set(input, this.#kept.length);
    const taps = 2 * this.#width + 1;
    const count = Math.max(0, Math.ceil((all.length - this.#width - 1 - this.#at) / this.#step));
    const output = new Float32Array(count);
    for (let n = 0; n < count; n++) {
      const position = this.#at + n * this.#step;
      const whole = Math.floor(position);
      const row = Math.round((position - whole) * PHASES) * taps;
      let sum = 0;
      for (let tap = 0; tap < taps; tap++)
        sum += (all[whole - this.#width + tap] ?? 0) * (this.#table[row + tap] ?? 0);
      output[n] = sum;
    }
    this.#at += count * this.#step;
    const drop = Math.max(0, Math.floor(this.#at) - this.#width);
    this.#kept = all.slice(drop);
    this.#at -= drop;
    return output;
  }
}

/** Cuts sound into frames of 16-bit samples, little-endian as every browser's machine is. */
export class FrameCutter {
  readonly #frame: Int16Array;
  #filled = 0;

  constructor(frameSamples: number) {
    this.#frame = new Int16Array(frameSamples);
  }

  /** @param samples - -1 to 1; louder is clipped @param take - gets a copy of each whole frame */
  push(samples: Float32Array, take: (frame: Int16Array) => void): void {
    for (const sample of samples) {
      const value = Math.max(-1, Math.min(1, sample));
      this.#frame[this.#filled++] = Math.round(value * 32767);
      if (this.#filled < this.#frame.length) continue;
      this.#filled = 0;
      take(this.#frame.slice());
    }
  }
}

/** From 60 ms to 240 ms at most. */
const MAX_START_FACTOR = 4;
/** Below this nothing can be heard: -54 dB. */
const QUIET = 0.002;

/** What came and was not played yet. Waits a little before it begins, so that a late packet leaves no hole. */
export class PlayoutBuffer {
  readonly #ring: Float32Array;
  readonly #firstSamples: number;
  readonly #maxStartSamples: number;
  readonly #highSamples: number;
  /** Grows with each time that it ran dry: a rough line is heard a little later, and whole. */
  #startSamples: number;
  #read = 0;
  #length = 0;
  #isPlaying = false;
  /** How often it ran dry in the middle. */
  underruns = 0;
  /** Samples that found no room, or were silence while too much waited. */
  dropped = 0;

  /**
   * @param size - samples at most
   * @param startSamples - so many must be there before it begins, and again after it ran dry
   * @param highSamples - while so much more than that waits, silence that comes is left out: a pause in a conversation
   *   gets shorter, and nothing that is said does
   */
  constructor(size: number, startSamples: number, highSamples = size) {
    this.#ring = new Float32Array(size);
    this.#firstSamples = startSamples;
    this.#startSamples = startSamples;
    this.#maxStartSamples = startSamples * MAX_START_FACTOR;
    this.#highSamples = highSamples;
  }

  get length(): number {
    return this.#length;
  }

  write(samples: Float32Array): void {
    if (
      this.#length > this.#startSamples + this.#highSamples &&
      samples.every((sample) => Math.abs(sample) < QUIET)
    ) {
      this.dropped += samples.length;
      return;
    }
    for (const sample of samples) {
      if (this.#length === this.#ring.length) {
        this.dropped++;
        continue;
      }
      this.#ring[(this.#read + this.#length) % this.#ring.length] = sample;
      this.#length++;
    }
  }

  /** Fills `output`, with silence where there is nothing. */
  read(output: Float32Array): void {
    output.fill(0);
    if (!this.#isPlaying && this.#length < this.#startSamples) return;
    this.#isPlaying = true;
    const count = Math.min(output.length, this.#length);
    for (let i = 0; i < count; i++) output[i] = this.#ring[(this.#read + i) % this.#ring.length] ?? 0;
    this.#read = (this.#read + count) % this.#ring.length;
    this.#length -= count;
    if (count === output.length) return;
    this.#isPlaying = false;
    this.underruns++;
    this.#startSamples = Math.min(this.#maxStartSamples, this.#startSamples + this.#firstSamples);
  }

  clear(): void {
    this.#length = 0;
    this.#isPlaying = false;
  }
}
