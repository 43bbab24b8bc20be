/**
 * Latency through a server that decodes, resamples or encodes anew what it is given, so that no stamp in the payload
 * survives: both ends send bursts of tone with silence between, and the other end looks for where each begins. A burst
 * tells its number by its pitch, so that a lost one is not taken for a late one.
 *
 * @module
 */

import { MIN_SAMPLES_FOR_P99 } from '../lib/histogram.ts';

/** Frames of 20 ms from the beginning of one burst to the next one's: two of tone, three of silence. */
export const PERIOD_FRAMES = 5;
const TONE_FRAMES = 2;
/** Multiples of 50, so that frames of 20 ms hold whole waves and follow on each other without a click. */
export const PITCHES_HZ = [400, 550, 700, 850, 1000, 1150, 1300, 1450] as const;
const AMPLITUDE = 12_000;
/** The tone is there: so much is reached within 0.2 ms, and no encoder's noise comes near. */
const ON = AMPLITUDE / 4;
/** Quiet for so long: a burst is over, and the next may begin. */
const QUIET_MS = 15;
/** Less of a burst's energy than this at the best pitch, and it is no burst of ours. A tone has nearly all of it. */
const PURE = 0.4;
/** Shorter, in ms, it is a click; longer, it is cut. */
const TONE_MS = [10, 60] as const;

export interface Heard {
  /** Index in `PITCHES_HZ`. */
  readonly pitch: number;
  /** When its first sample is played, if what arrives is played at once: µs of the machine's monotonic clock. */
  readonly atUs: number;
  /** When it is played by a telephone, which plays what arrives in its turn and without gaps; as `atUs` elsewhere. */
  readonly playedUs: number;
}

/** Whether a burst begins with the n-th frame of a call. */
export const beginsBurst = (frame: number): boolean => frame % PERIOD_FRAMES === 0;

/** The frames of the eight bursts, one after the other: the n-th frame of a call is the one at n % length. */
export function burstFrames(sampleRate: number): Int16Array[] {
  const samples = sampleRate / 50;
  return Array.from({ length: PITCHES_HZ.length * PERIOD_FRAMES }, (_, frame) => {
    const pitch = PITCHES_HZ[Math.floor(frame / PERIOD_FRAMES)] ?? 0;
    const isTone = frame % PERIOD_FRAMES < TONE_FRAMES;
    return Int16Array.from({ length: samples }, (_, i) =>
      isTone ? Math.round(AMPLITUDE * Math.sin((2 * Math.PI * pitch * i) / sampleRate)) : 0,
    );
  });
}

/** Finds the bursts in one call's sound, given piece by piece with the time of its arrival. */
export class BurstListener {
  readonly #sampleRate: number;
  readonly #quietSamples: number;
  readonly #onBurst: (heard: Heard) => void;
  #quiet = 0;
  /** Samples since the burst began; -1 between bursts. */
  #inBurst = -1;
  #atUs = 0;
  #playedUs = 0;
  readonly #burst: Float64Array;
  /** Samples heard so far. */
  samples = 0;

  constructor(sampleRate: number, onBurst: (heard: Heard) => void) {
    this.#sampleRate = sampleRate;
    this.#quietSamples = (sampleRate * QUIET_MS) / 1000;
    this.#burst = new Float64Array((sampleRate * TONE_MS[1]) / 1000);
    this.#onBurst = onBurst;
  }

  push(samples: Int16Array, arrivedUs: number, playedUs = arrivedUs): void {
    this.samples += samples.length;
    for (let i = 0; i < samples.length; i += 1) {
      const value = samples[i] ?? 0;
      const loud = value > ON || value < -ON;
      if (this.#inBurst < 0) {
        if (loud && this.#quiet >= this.#quietSamples) {
          const within = (i * 1_000_000) / this.#sampleRate;
          this.#begin(arrivedUs + within, playedUs + within);
        }
        this.#quiet = loud ? 0 : this.#quiet + 1;
      }
      if (this.#inBurst >= 0) this.#follow(value, loud);
    }
  }

  #begin(atUs: number, playedUs: number): void {
    this.#inBurst = 0;
    this.#atUs = atUs;
    this.#playedUs = playedUs;
    this.#quiet = 0;
  }

  #follow(value: number, loud: boolean): void {
    if (this.#inBurst < this.#burst.length) this.#burst[this.#inBurst] = value;
    this.#inBurst += 1;
    this.#quiet = loud ? 0 : this.#quiet + 1;
    if (this.#quiet < this.#quietSamples) return;
    const tone = Math.min(this.#inBurst - this.#quiet, this.#burst.length);
    this.#inBurst = -1;
    if ((tone * 1000) / this.#sampleRate < TONE_MS[0]) return;
    const pitch = pitchOf(this.#burst.subarray(0, tone), this.#sampleRate);
    if (pitch !== null) this.#onBurst({ pitch, atUs: this.#atUs, playedUs: this.#playedUs });
  }
}

/** The pitch with the most energy (Goertzel's algorithm): codecs of speech leave a tone ragged, and its zeros with it. */
function pitchOf(tone: Float64Array, sampleRate: number): number | null {
  let total = 0;
  for (const value of tone) total += value * value;
  const shares = PITCHES_HZ.map((hz) => {
    const factor = 2 * Math.cos((2 * Math.PI * hz) / sampleRate);
    let [one, two] = [0, 0];
    for (const value of tone) [one, two] = [value + factor * one - two, one];
    return ((one * one + two * two - factor * one * two) * 2) / tone.length / total;
  });
  const best = Math.max(...shares);
  return best < PURE ? null : shares.indexOf(best);
}

/** What became of one call's bursts, one way. */
export interface Paired {
  /** Of those sent within the window, in µs. One that has not come yet counts as late as it is by then. */
  readonly latenciesUs: readonly number[];
  /** Of the same ones, until they are played. */
  readonly untilPlayedUs: readonly number[];
  /** Sent within the window; later ones came, these did not. */
  readonly lost: number;
  /** Sent within the window, and more than `PENDING_US` later not there yet. */
  readonly pending: number;
}

/** What has been on its way for less than this when the measurement ends may still come. */
const PENDING_US = 300_000;

/**
 * @param sentUs - when each burst of the call left, from its first one on
 * @param window - only bursts that left within it count
 * @param readUs - when the other end was asked what it had heard
 */
export function pair(
  sentUs: readonly number[],
  heard: readonly Heard[],
  [fromUs, toUs]: readonly [number, number],
  readUs: number,
): Paired {
  const latenciesUs: number[] = [];
  const untilPlayedUs: number[] = [];
  let [lost, pending, next] = [0, 0, 0];
  const counts = (burst: number) => {
    const at = sentUs[burst] ?? 0;
    return at >= fromUs && at < toUs;
  };
  for (const { pitch, atUs, playedUs } of heard) {
    const ahead = (pitch - (next % PITCHES_HZ.length) + PITCHES_HZ.length) % PITCHES_HZ.length;
    const burst = next + ahead;
    const left = sentUs[burst];
    // Nothing is heard before it was said: a pitch that was not understood.
    if (left === undefined || left > atUs) continue;
    for (let missed = next; missed < burst; missed += 1) if (counts(missed)) lost += 1;
    if (counts(burst)) {
      latenciesUs.push(atUs - left);
      untilPlayedUs.push(playedUs - left);
    }
    next = burst + 1;
  }
  for (let burst = next; burst < sentUs.length; burst += 1) {
    const age = readUs - (sentUs[burst] ?? readUs);
    if (!counts(burst) || age < PENDING_US) continue;
    pending += 1;
    latenciesUs.push(age);
    untilPlayedUs.push(age);
  }
  return { latenciesUs, untilPlayedUs, lost, pending };
}

/** Seconds until so many calls have sent enough bursts for a p99. */
export const secondsForP99 = (calls: number): number =>
  Math.ceil((MIN_SAMPLES_FOR_P99 * 1.1 * PERIOD_FRAMES) / 50 / calls);
