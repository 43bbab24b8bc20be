/**
 * The part `relay` of the benchmark: contestants in turn, so that what the machine does meanwhile hits all of them.
 *
 * @module
 */

import { median, spread } from './lib/histogram.ts';
import { agents, bare, type Contestant, ours } from './relay/contestants.ts';
import { type RelayRun, runRelay } from './relay/relay.ts';
import type { RelaySummary } from './results.ts';

export interface RelaySize {
  readonly steps: readonly number[];
  readonly rounds: number;
  readonly warmMs: number;
  readonly measureMs: number;
  /** Whether one with a p99 above `LIMIT_P99_MS` is asked to take more calls. */
  readonly stopsWhenLate: boolean;
}

/** Above this a contestant is late. */
const LIMIT_P99_MS = 20;
const CONTESTANTS = [bare, agents, ours];

export async function relayPart(size: RelaySize): Promise<RelaySummary[]> {
  const { steps, rounds, warmMs, measureMs, stopsWhenLate } = size;
  const summaries: RelaySummary[] = [];
  const out = new Set<string>();
  for (const calls of steps) {
    const runs = new Map(CONTESTANTS.map((each) => [each.id, [] as (RelayRun | null)[]]));
    for (let round = 0; round < rounds; round += 1)
      for (const contestant of CONTESTANTS)
        if (!out.has(contestant.id))
          runs.get(contestant.id)?.push(await runRelay(contestant, { calls, warmMs, measureMs }));
    for (const contestant of CONTESTANTS) {
      const all = runs.get(contestant.id) ?? [];
      if (all.length === 0) continue;
      const found = summary(contestant, calls, all);
      summaries.push(found);
      print(found);
      const isLate = stopsWhenLate && Math.max(found.upMs[1], found.downMs[1]) > LIMIT_P99_MS;
      if (found.saturated || isLate) out.add(contestant.id);
    }
  }
  return summaries;
}

function summary({ id, name }: Contestant, calls: number, all: readonly (RelayRun | null)[]): RelaySummary {
  const runs = all.filter((run) => run !== null);
  const of = (pick: (run: RelayRun) => number) => median(runs.map(pick));
  return {
    contestant: id,
    name,
    calls,
    runs,
    saturated: runs.length < all.length || runs.some((run) => run.dropped > 0),
    cpuPerCall: of((run) => run.cpuPerCall),
    cpuSpread: spread(runs.map((run) => run.cpuPerCall)),
    upMs: [of((run) => run.up.p50Ms), of((run) => run.up.p99Ms ?? Number.NaN), of((run) => run.up.maxMs)],
    downMs: [
      of((run) => run.down.p50Ms),
      of((run) => run.down.p99Ms ?? Number.NaN),
      of((run) => run.down.maxMs),
    ],
    memoryKiB: of((run) => run.memoryPerCallKiB),
    processMiB: of((run) => run.processMiB),
    lost: runs.reduce((sum, run) => sum + run.lostUp + run.lostDown, 0),
  };
}

function print({
  name,
  calls,
  cpuPerCall,
  cpuSpread,
  upMs,
  downMs,
  memoryKiB,
  processMiB,
  lost,
  saturated,
}: RelaySummary) {
  const three = (ms: readonly number[]) => ms.map((each) => each.toFixed(2)).join(' / ');
  const percent = (share: number) => (share * 100).toFixed(3);
  console.log(
    `${name.padEnd(32)} ${String(calls).padStart(4)} calls  ${percent(cpuPerCall)} % of a core each ` +
      `(${cpuSpread.map(percent).join(' to ')})  up ${three(upMs)}  down ${three(downMs)} ms  ` +
      `${memoryKiB} KiB of ${processMiB} MiB  ${lost} lost${saturated ? '  SATURATED' : ''}`,
  );
}
