/**
 * Loudness for a meter.
 *
 * @module
 */

const FLOOR_DB = -60;
const CEILING_DB = -9;
/** A meter falls slowly and rises at once, as needles do. */
const FALL_PER_MS = 1 / 350;

/** @param samples - -1 to 1 @returns 0 (silent) to 1 (loud), even in steps of loudness */
export function levelOf(samples: Float32Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  if (samples.length === 0 || sum === 0) return 0;
  const db = 10 * Math.log10(sum / samples.length);
  return Math.min(1, Math.max(0, (db - FLOOR_DB) / (CEILING_DB - FLOOR_DB)));
}

export function follow(shown: number, level: number, elapsedMs: number): number {
  return Math.max(level, shown - FALL_PER_MS * elapsedMs, 0);
}

/** The newest levels of a line, oldest first; a ring of fixed size. */
export class LevelHistory {
  readonly #levels: Float32Array;
  #next = 0;

  constructor(size: number) {
    this.#levels = new Float32Array(size);
  }

  get size(): number {
    return this.#levels.length;
  }

  push(level: number): void {
    this.#levels[this.#next] = level;
    this.#next = (this.#next + 1) % this.#levels.length;
  }

  /** @param index - 0 is the oldest */
  at(index: number): number {
    return this.#levels[(this.#next + index) % this.#levels.length] ?? 0;
  }
}
