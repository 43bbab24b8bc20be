/**
 * What the two ends of a call tell of it: when their bursts left, and when they heard the other end's.
 *
 * @module
 */

import { type Distribution, distributionOf } from '../lib/histogram.ts';
import { type Heard, pair } from './bursts.ts';

export interface CallEnd {
  /** When each burst left, in µs, from the call's first one on. */
  readonly sentUs: readonly number[];
  readonly heard: readonly Heard[];
  /** How much sound it sent and got in all, in ms. */
  readonly sentMs: number;
  readonly heardMs: number;
}

/** One call after the other, in the order in which they were placed. */
export interface EndsRead {
  readonly ends: readonly CallEnd[];
  readonly readUs: number;
  /** Frames that were not even sent, because ten seconds of them waited already. */
  readonly refused: number;
}

export interface OneWay {
  readonly latency: Distribution;
  readonly untilPlayed: Distribution;
  readonly lost: number;
  readonly pending: number;
  /** Sound that came, as a share of what was sent since `before` was read. */
  readonly share: number;
}

/** From one end to the other, over all calls. */
export function oneWay(
  from: EndsRead,
  to: EndsRead,
  before: { readonly from: EndsRead; readonly to: EndsRead },
): OneWay {
  const latenciesMs: number[] = [];
  const untilPlayedMs: number[] = [];
  let [lost, pending, sentMs, heardMs] = [0, 0, 0, 0];
  for (const [n, end] of from.ends.entries()) {
    const other = to.ends[n];
    if (!other) continue;
    const paired = pair(end.sentUs, other.heard, [before.from.readUs, from.readUs], to.readUs);
    for (const us of paired.latenciesUs) latenciesMs.push(us / 1000);
    for (const us of paired.untilPlayedUs) untilPlayedMs.push(us / 1000);
    lost += paired.lost;
    pending += paired.pending;
    sentMs += end.sentMs - (before.from.ends[n]?.sentMs ?? 0);
    heardMs += other.heardMs - (before.to.ends[n]?.heardMs ?? 0);
  }
  return {
    latency: distributionOf(latenciesMs),
    untilPlayed: distributionOf(untilPlayedMs),
    lost,
    pending,
    share: heardMs / Math.max(1, sentMs),
  };
}
