/**
 * N calls through a server, measured by onsets (`bursts.ts`): a model that speaks in bursts, callers who do, and what the
 * server takes meanwhile. Whoever resamples, or decodes and encodes anew, can be measured so beside those who don't.
 *
 * @module
 */

import type { ChildProcess } from 'node:child_process';
import { loadavg } from 'node:os';
import { ask, next, start, stop, usageOf } from '../lib/child.ts';
import { type Distribution, median, spread } from '../lib/histogram.ts';
import { nowUs } from '../lib/monotonic.ts';
import type { CallsSummary } from '../results.ts';
import { secondsForP99 } from './bursts.ts';
import { type EndsRead, oneWay } from './ends.ts';

/** @typeParam Target - what the callers dial */
export interface Measured<Target> {
  readonly id: 'bare' | 'agents' | 'ours' | 'pipecat';
  readonly name: string;
  start(modelUrl: string): Promise<Running<Target>>;
}

interface Running<Target> {
  readonly child: ChildProcess;
  readonly target: Target;
  stop(): Promise<void>;
}

export interface OnsetRun {
  /** Share of one core that a call takes, over all threads of the server. */
  readonly cpuPerCall: number;
  readonly up: Distribution;
  readonly down: Distribution;
  /** Down, until a telephone plays it. */
  readonly played: Distribution;
  /** Resident memory that a call adds, in KiB. */
  readonly memoryPerCallKiB: number;
  /** Bursts that never came, though later ones did, both ways. */
  readonly lost: number;
  readonly bursts: number;
  /** Calls that were not there any more at the end. */
  readonly dropped: number;
  /** Sound that came, as a share of what was sent meanwhile: below 1 the server falls behind. */
  readonly shareUp: number;
  readonly shareDown: number;
  /** Load average of a minute when it began. */
  readonly load: number;
}

interface CallersRead extends EndsRead {
  readonly open: number;
}

export interface OnsetOptions {
  readonly calls: number;
  /** Program of the callers. */
  readonly callers: string;
  readonly warmMs: number;
  /** @defaultValue as long as a p99 needs */
  readonly measureMs?: number;
}

/** A call that nobody has picked up by then will not be. */
const ANSWER_LIMIT_MS = 15_000;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const ready = (message: unknown) => (message as { ready?: string }).ready;

/** `null`: it did not take that many calls. */
export async function runOnsets<Target>(
  measured: Measured<Target>,
  { calls, callers: program, warmMs, measureMs = secondsForP99(calls) * 1000 }: OnsetOptions,
): Promise<OnsetRun | null> {
  const load = loadavg()[0] ?? 0;
  const model = start('bench/pipecat/model.ts');
  const modelUrl = await next(model, ready);
  const callers = start(program);
  await next(callers, ready);
  const server = await measured.start(modelUrl);
  /** One after the other, so that the n-th call is the model's n-th session; `false` when nobody picks up. */
  const dial = async (count: number): Promise<boolean> => {
    for (let n = 0; n < count; n += 1) {
      const before = await ask<number>(model, { ask: 'onTheLine' });
      await ask(callers, { ask: 'dial', target: server.target });
      const limit = performance.now() + ANSWER_LIMIT_MS;
      while ((await ask<number>(model, { ask: 'onTheLine' })) === before) {
        if (performance.now() > limit) return false;
        await wait(5);
      }
    }
    return true;
  };
  const read = () =>
    Promise.all([ask<EndsRead>(model, { ask: 'read' }), ask<CallersRead>(callers, { ask: 'read' })]);
  try {
    await wait(500);
    // The first calls load code; they are not what a call costs.
    if (!(await dial(2))) return null;
    await wait(500);
    const idle = await usageOf(server.child);
    if (!(await dial(calls - 2))) return null;
    await wait(warmMs);
    const [modelBefore, callersBefore] = await read();
    const before = await usageOf(server.child);
    const startUs = nowUs();
    await wait(measureMs);
    const after = await usageOf(server.child);
    const tookUs = nowUs() - startUs;
    const [modelAfter, callersAfter] = await read();
    const up = oneWay(callersAfter, modelAfter, { from: callersBefore, to: modelBefore });
    const down = oneWay(modelAfter, callersAfter, { from: modelBefore, to: callersBefore });
    return {
      cpuPerCall: (after.cpuUs - before.cpuUs) / tookUs / calls,
      up: up.latency,
      down: down.latency,
      played: down.untilPlayed,
      memoryPerCallKiB: Math.round((after.rss - idle.rss) / 1024 / Math.max(1, calls - 2)),
      lost: up.lost + down.lost,
      bursts: up.latency.n + down.latency.n,
      dropped: calls - callersAfter.open,
      shareUp: up.share,
      shareDown: down.share,
      load,
    };
  } finally {
    await server.stop();
    await stop(callers);
    await stop(model);
  }
}

/** Saturated also when it fell behind: less than `KEEPS_UP` of the sound, or of the bursts, came. */
export interface OnsetSummary extends CallsSummary<Measured<unknown>['id'], OnsetRun> {
  readonly playedMs: readonly [p50: number, p99: number, max: number];
}

const KEEPS_UP = 0.97;

export function summaryOf<Target>(
  { id, name }: Measured<Target>,
  calls: number,
  all: readonly (OnsetRun | null)[],
): OnsetSummary {
  const runs = all.filter((run) => run !== null);
  const of = (pick: (run: OnsetRun) => number) => median(runs.map(pick));
  const latency = (way: 'up' | 'down' | 'played') =>
    [
      of((run) => run[way].p50Ms),
      of((run) => run[way].p99Ms ?? Number.NaN),
      of((run) => run[way].maxMs),
    ] as const;
  const isBehind = ({ dropped, shareUp, shareDown, lost, bursts }: OnsetRun) =>
    dropped > 0 || Math.min(shareUp, shareDown, 1 - lost / Math.max(1, bursts + lost)) < KEEPS_UP;
  return {
    contestant: id,
    name,
    calls,
    runs,
    saturated: runs.length < all.length || runs.some(isBehind),
    cpuPerCall: of((run) => run.cpuPerCall),
    cpuSpread: spread(runs.map((run) => run.cpuPerCall)),
    upMs: latency('up'),
    downMs: latency('down'),
    playedMs: latency('played'),
    memoryKiB: of((run) => run.memoryPerCallKiB),
    lost: runs.reduce((sum, run) => sum + run.lost, 0),
  };
}

/** Contestants take turns at each number of calls; one that is saturated is not asked to take more. */
export async function compareOnsets<Target>(
  all: readonly Measured<Target>[],
  steps: readonly number[],
  rounds: number,
  options: Omit<OnsetOptions, 'calls'>,
): Promise<OnsetSummary[]> {
  const summaries: OnsetSummary[] = [];
  const out = new Set<string>();
  for (const calls of steps) {
    const runs = new Map(all.map(({ id }) => [id, [] as (OnsetRun | null)[]]));
    for (let round = 0; round < rounds; round += 1)
      for (const each of all)
        if (!out.has(each.id)) runs.get(each.id)?.push(await runOnsets(each, { ...options, calls }));
    for (const each of all) {
      const found = runs.get(each.id) ?? [];
      if (found.length === 0) continue;
      const summary = summaryOf(each, calls, found);
      summaries.push(summary);
      console.log(lineOf(summary));
      if (summary.saturated) out.add(each.id);
    }
  }
  return summaries;
}

function lineOf(found: OnsetSummary): string {
  const three = (ms: readonly number[]) =>
    ms.map((each) => (Number.isNaN(each) ? '-' : each.toFixed(1))).join(' / ');
  const percent = (share: number) => (share * 100).toFixed(3);
  const { runs } = found;
  const least = Math.min(1, ...runs.flatMap(({ shareUp, shareDown }) => [shareUp, shareDown]));
  return (
    `${found.name.padEnd(32)} ${String(found.calls).padStart(4)} calls  ${percent(found.cpuPerCall)} % of a core each ` +
    `(${found.cpuSpread.map(percent).join(' to ')})  up ${three(found.upMs)}  down ${three(found.downMs)}  played ${three(found.playedMs)} ms  ` +
    `${found.memoryKiB} KiB  ${found.lost} of ${runs.reduce((sum, run) => sum + run.bursts, 0)} bursts lost` +
    `${least < KEEPS_UP ? `  ${(least * 100).toFixed(0)} % of the sound came` : ''}` +
    `  load ${runs.map(({ load }) => load.toFixed(1)).join(', ')}${found.saturated ? '  SATURATED' : ''}`
  );
}
