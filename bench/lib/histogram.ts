/**
 * Durations in buckets of 10 µs: a million samples cost no memory of their own.
 *
 * @module
 */

const BUCKET_US = 10;
const BUCKETS = 200_000;

/** A p99 of fewer samples is an anecdote, and is not reported. */
export const MIN_SAMPLES_FOR_P99 = 1000;

export interface Distribution {
  readonly n: number;
  readonly p50Ms: number;
  readonly p90Ms: number;
  /** `null` below 1,000 samples. */
  readonly p99Ms: number | null;
  readonly maxMs: number;
  /** Share of the samples (0..1) and the ms that so many stay under: the latency curve. */
  readonly curve: readonly (readonly [share: number, ms: number])[];
}

const SHARES = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.999];

export class Histogram {
  readonly #counts = new Uint32Array(BUCKETS);
  #n = 0;
  #maxUs = 0;

  add(us: number): void {
    const bucket = us < 0 ? 0 : Math.min(BUCKETS - 1, Math.floor(us / BUCKET_US));
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#n += 1;
    if (us > this.#maxUs) this.#maxUs = us;
  }

  reset(): void {
    this.#counts.fill(0);
    this.#n = 0;
    this.#maxUs = 0;
  }

  read(): Distribution {
    const at = (share: number) => this.#at(share);
    return {
      n: this.#n,
      p50Ms: at(0.5),
      p90Ms: at(0.9),
      p99Ms: this.#n < MIN_SAMPLES_FOR_P99 ? null : at(0.99),
      maxMs: round(this.#maxUs / 1000),
      curve: SHARES.map((share) => [share, at(share)] as const),
    };
  }

  #at(share: number): number {
    let left = Math.ceil(this.#n * share);
    for (let bucket = 0; bucket < BUCKETS; bucket += 1) {
      left -= this.#counts[bucket] ?? 0;
      if (left <= 0) return round(((bucket + 1) * BUCKET_US) / 1000);
    }
    return Number.NaN;
  }
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000;

export function distributionOf(samplesMs: readonly number[]): Distribution {
  const histogram = new Histogram();
  for (const ms of samplesMs) histogram.add(ms * 1000);
  return histogram.read();
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[middle - 1] ?? Number.NaN, sorted[middle] ?? Number.NaN];
  return sorted.length % 2 === 1 ? high : (low + high) / 2;
}

/** Smallest and largest: what the runs disagree by. */
export function spread(values: readonly number[]): readonly [number, number] {
  return [Math.min(...values), Math.max(...values)];
}

/** Steepness of the straight line through points (least squares). */
export function slope(points: readonly (readonly [x: number, y: number])[]): number {
  const mean = (axis: 0 | 1) => points.reduce((sum, point) => sum + point[axis], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  const over = points.reduce((sum, [x, y]) => sum + (x - meanX) * (y - meanY), 0);
  const under = points.reduce((sum, [x]) => sum + (x - meanX) ** 2, 0);
  return over / under;
}
