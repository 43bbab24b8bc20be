/**
 * `npm run bench`: everything that is measured, in a form of under five minutes (`--full`: an hour and more). Prints
 * tables, writes `results.json` and draws `report.html`. Parts by name: `npm run bench -- relay micro`.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import { median, spread } from './lib/histogram.ts';
import type { LongResult } from './long.ts';
import { type MemoryResult, memory } from './memory.ts';
import type { MicroResult } from './micro.ts';
import { type PipecatResult, pipecatPart } from './pipecat/index.ts';
import { type ReactionResult, reaction } from './reaction.ts';
import { agents, bare, type Contestant, ours } from './relay/contestants.ts';
import { type RelayRun, runRelay } from './relay/relay.ts';
import { renderReport } from './report.ts';
import { type StartResult, startTimes } from './start.ts';

export interface Results {
  readonly date: string;
  readonly command: string;
  readonly machine: { readonly cores: number; readonly memoryGiB: number; readonly node: string };
  /** Load average of a minute at the beginning and at the end: 1.5 and more on two cores is a busy machine. */
  load: [number, number];
  relay?: readonly RelaySummary[];
  memory?: MemoryResult;
  reaction?: readonly ReactionResult[];
  micro?: readonly MicroResult[];
  long?: LongResult;
  start?: StartResult;
  pipecat?: PipecatResult;
  /** Written by `bench/webrtc.ts`. */
  webrtc?: unknown;
}

/** Medians of the runs of one contestant at one number of calls. */
export interface RelaySummary {
  readonly contestant: Contestant['id'];
  readonly name: string;
  readonly calls: number;
  readonly runs: readonly RelayRun[];
  /** It did not take that many calls, or lost some. */
  readonly saturated: boolean;
  readonly cpuPerCall: number;
  readonly cpuSpread: readonly [number, number];
  readonly upMs: readonly [p50: number, p99: number, max: number];
  readonly downMs: readonly [p50: number, p99: number, max: number];
  readonly memoryKiB: number;
  readonly lost: number;
}

/** Above this a contestant is not asked to take more calls. */
const LIMIT_P99_MS = 20;
const HERE = new URL('./', import.meta.url);
const CONTESTANTS = [bare, agents, ours];

const args = process.argv.slice(2);
const isFull = args.includes('--full');
const wanted = args.filter((each) => !each.startsWith('--'));
const wants = (part: string) => wanted.length === 0 || wanted.includes(part);

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
    lost: runs.reduce((sum, run) => sum + run.lostUp + run.lostDown, 0),
  };
}

/** In turn, so that what the machine does meanwhile hits all of them. */
async function relay(): Promise<RelaySummary[]> {
  const steps = isFull ? [100, 200, 300, 500, 700, 1000] : [100, 300];
  const rounds = isFull ? 3 : 2;
  const summaries: RelaySummary[] = [];
  const out = new Set<string>();
  for (const calls of steps) {
    const runs = new Map(CONTESTANTS.map((each) => [each.id, [] as (RelayRun | null)[]]));
    for (let round = 0; round < rounds; round += 1) {
      for (const contestant of CONTESTANTS) {
        if (out.has(contestant.id)) continue;
        const measureMs = isFull ? 15_000 : 6000;
        runs.get(contestant.id)?.push(await runRelay(contestant, { calls, warmMs: 3000, measureMs }));
      }
    }
    for (const contestant of CONTESTANTS) {
      const all = runs.get(contestant.id) ?? [];
      if (all.length === 0) continue;
      const found = summary(contestant, calls, all);
      summaries.push(found);
      print(found);
      // The short form has two steps, and both are wanted; a machine with other work would end it at the first.
      const isLate = isFull && Math.max(found.upMs[1], found.downMs[1]) > LIMIT_P99_MS;
      if (found.saturated || isLate) out.add(contestant.id);
    }
  }
  return summaries;
}

function print({
  name,
  calls,
  cpuPerCall,
  cpuSpread,
  upMs,
  downMs,
  memoryKiB,
  lost,
  saturated,
}: RelaySummary) {
  const three = (ms: readonly number[]) => ms.map((each) => each.toFixed(2)).join(' / ');
  const percent = (share: number) => (share * 100).toFixed(3);
  console.log(
    `${name.padEnd(32)} ${String(calls).padStart(4)} calls  ${percent(cpuPerCall)} % of a core each ` +
      `(${cpuSpread.map(percent).join(' to ')})  up ${three(upMs)}  down ${three(downMs)} ms  ` +
      `${memoryKiB} KiB  ${lost} lost${saturated ? '  SATURATED' : ''}`,
  );
}

/** Parts that want a process with a wide young generation, so that allocations can be counted. */
function apart<T>(path: string, flags: readonly string[], ...rest: readonly string[]): T {
  const file = fileURLToPath(new URL(path, HERE));
  const all = ['--disable-warning=ExperimentalWarning', ...flags, file, ...rest, '--json'];
  const { stdout, status } = spawnSync(process.execPath, all, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) throw new Error(`${path} failed.`);
  return JSON.parse(stdout) as T;
}

const OUT = new URL('results.json', HERE);
const before: Partial<Results> =
  wanted.length > 0 && existsSync(OUT) ? (JSON.parse(readFileSync(OUT, 'utf8')) as Results) : {};
const results: Results = {
  ...before,
  date: new Date().toISOString().slice(0, 10),
  command: ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' '),
  machine: {
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
  },
  load: [loadavg()[0] ?? 0, 0],
};

if (wants('start')) {
  results.start = await startTimes(isFull ? 11 : 5);
  const { medianMs, spreadMs, bareNodeMs } = results.start;
  console.log(
    `start to listening: ${medianMs} ms (${spreadMs.join(' to ')}); a bare node ${bareNodeMs} ms\n`,
  );
}
if (wants('micro')) {
  results.micro = apart<MicroResult[]>('micro.ts', ['--expose-gc', '--max-semi-space-size=256']);
  for (const { name, nsPerFrame, bytesPerFrame } of results.micro)
    console.log(
      `${name.padEnd(62)} ${String(nsPerFrame).padStart(8)} ns ${String(bytesPerFrame).padStart(6)} bytes`,
    );
  console.log();
}
if (wants('reaction')) {
  results.reaction = await reaction();
  for (const { name, found } of results.reaction)
    console.log(
      `${name.padEnd(60)} p50 ${found.p50Ms}  p99 ${found.p99Ms ?? '-'}  max ${found.maxMs} ms  (n ${found.n})`,
    );
  console.log();
}
if (wants('memory')) {
  results.memory = await memory(isFull ? 300 : 150);
  const { residentKiBPerCall, heapKiBPerCall, externalKiBPerCall } = results.memory;
  console.log(
    `an idle call: ${residentKiBPerCall} KiB resident (${heapKiBPerCall} heap, ${externalKiBPerCall} outside)\n`,
  );
}
if (wants('long')) {
  results.long = apart<LongResult>('long.ts', ['--expose-gc'], isFull ? '60' : '1', '100');
  const { virtualMinutes, heapSlopeKiB, gcShare, step } = results.long;
  console.log(
    `${virtualMinutes} min of 100 calls: heap ${heapSlopeKiB} KiB per call and minute, ` +
      `collections ${(gcShare * 100).toFixed(1)} %, one step p99 ${step.p99Ms} ms\n`,
  );
}
if (wants('relay')) results.relay = await relay();
if (wants('pipecat')) results.pipecat = await pipecatPart(isFull);
const webrtc = new URL('webrtc-results.json', HERE);
if (existsSync(webrtc)) results.webrtc = JSON.parse(readFileSync(webrtc, 'utf8'));
results.load[1] = loadavg()[0] ?? 0;

writeFileSync(OUT, `${JSON.stringify(results, null, 1)}\n`);
writeFileSync(new URL('report.html', HERE), renderReport(results));
console.log(
  `\nbench/results.json and bench/report.html; load average ${results.load.map((l) => l.toFixed(2)).join(' to ')}`,
);
process.exit(0);
