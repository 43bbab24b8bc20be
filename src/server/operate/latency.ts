/**
 * How long callers waited, in percentiles that say of how many turns.
 *
 * @module
 */

/** Of one call: `[latencyMs, toolMs]` for each turn. */
export interface CallLatencies {
  readonly id: string;
  readonly carrier: string;
  /** Epoch ms. */
  readonly startedAt: number;
  readonly turns: readonly (readonly [latencyMs: number, toolMs: number])[];
}

export interface Percentiles {
  readonly p50: number | null;
  readonly p90: number | null;
  readonly p99: number | null;
}

export interface LatencyFigures extends Percentiles {
  /** Turns. */
  readonly n: number;
  /** Without what tools took. */
  readonly own: Percentiles;
  readonly calls: number;
}

export function latencyFigures(calls: Iterable<CallLatencies>): LatencyFigures {
  const all: number[] = [];
  const own: number[] = [];
  let count = 0;
  for (const { turns } of calls) {
    count += 1;
    for (const [latencyMs, toolMs] of turns) {
      all.push(latencyMs);
      own.push(Math.max(0, latencyMs - toolMs));
    }
  }
  return { n: all.length, ...percentiles(all), own: percentiles(own), calls: count };
}

/** Nearest rank: a value that was measured, never one between two. */
export function percentiles(values: number[]): Percentiles {
  values.sort((a, b) => a - b);
  const at = (share: number) => {
    const value = values[Math.max(0, Math.ceil(values.length * share) - 1)];
    return value === undefined ? null : Math.round(value);
  };
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}
