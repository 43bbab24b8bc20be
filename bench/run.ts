/**
 * `npm run bench`: everything that is measured, in a form of under five minutes (`--full`: an hour and more; `--try`: each part
 * as small as it can be, to see that it works). Prints tables, writes `results.json` and draws `report.html`, after each part;
 * `--try` writes them into a folder for temporary files. Parts by name: `npm run bench -- relay micro`.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { barsOf } from './bars.ts';
import type { gateCheck } from './gate.ts';
import type { LongResult } from './long.ts';
import { memory } from './memory.ts';
import type { MicroResult } from './micro.ts';
import { pipecatPart } from './pipecat/index.ts';
import { reaction } from './reaction.ts';
import { type RelaySize, relayPart } from './relay-part.ts';
import { renderReport } from './report.ts';
import type { Part, Results } from './results.ts';
import { startTimes } from './start.ts';
import type { WebRtcResult } from './webrtc.ts';
import { ALL_KINDS, FEW_KINDS, type WorkersKind, workers } from './workers.ts';

const HERE = new URL('./', import.meta.url);
const args = process.argv.slice(2);
const [isFull, isTry] = [args.includes('--full'), args.includes('--try')];
const wanted = args.filter((each) => !each.startsWith('--'));

/** How much of each part is measured. */
interface Size {
  readonly starts: number;
  readonly reactions: number;
  readonly idleCalls: number;
  readonly longMinutes: number;
  readonly relay: RelaySize;
  readonly workers: {
    readonly kinds: readonly WorkersKind[];
    readonly steps: readonly number[];
    readonly rounds: number;
    readonly measureMs: number;
  };
  readonly webrtc: { readonly seconds: number; readonly counts: readonly number[] };
}

const SHORT: Size = {
  starts: 5,
  reactions: 1200,
  idleCalls: 150,
  longMinutes: 1,
  relay: { steps: [100, 300], rounds: 2, warmMs: 1500, measureMs: 3500, stopsWhenLate: false },
  workers: { kinds: FEW_KINDS, steps: [50], rounds: 1, measureMs: 4000 },
  webrtc: { seconds: 8, counts: [20] },
};
const FULL: Size = {
  starts: 11,
  reactions: 5000,
  idleCalls: 300,
  longMinutes: 60,
  relay: {
    steps: [100, 200, 300, 500, 700, 1000],
    rounds: 3,
    warmMs: 3000,
    measureMs: 15_000,
    // A contestant that is late is not asked to take more calls.
    stopsWhenLate: true,
  },
  workers: { kinds: ALL_KINDS, steps: [50, 100, 300], rounds: 3, measureMs: 8000 },
  webrtc: { seconds: 20, counts: [1, 20, 50, 60, 80] },
};
const TRY: Size = {
  starts: 1,
  reactions: 50,
  idleCalls: 10,
  longMinutes: 0.1,
  relay: { steps: [6, 10], rounds: 1, warmMs: 500, measureMs: 1000, stopsWhenLate: false },
  workers: { kinds: ALL_KINDS, steps: [6], rounds: 1, measureMs: 1000 },
  webrtc: { seconds: 2, counts: [2] },
};
const size = isTry ? TRY : isFull ? FULL : SHORT;

/** In a process of its own: with flags of its own, or to count all of its threads and nothing else. */
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

const COUNTED = ['--expose-gc', '--max-semi-space-size=256'];

/** Quick ones first, those that heat the machine last. */
const PARTS: { readonly [P in Part]: () => Promise<Required<Results>[P]> | Required<Results>[P] } = {
  start: () => startTimes(size.starts),
  micro: () => [
    ...apart<MicroResult[]>('micro.ts', COUNTED),
    apart<ReturnType<typeof gateCheck>>('gate.ts', COUNTED),
  ],
  reaction: () => reaction(size.reactions),
  memory: () => memory(size.idleCalls),
  long: () => apart<LongResult>('long.ts', ['--expose-gc'], String(size.longMinutes), '100'),
  webrtc: () =>
    apart<WebRtcResult>('webrtc.ts', [], String(size.webrtc.seconds), ...size.webrtc.counts.map(String)),
  workers: () => workers(size.workers.kinds, size.workers.steps, size.workers.rounds, size.workers.measureMs),
  relay: () => relayPart(size.relay),
  pipecat: () => pipecatPart(isTry ? 'try' : isFull ? 'full' : 'short'),
};

const folder = isTry ? pathToFileURL(`${mkdtempSync(join(tmpdir(), 'bench-try-'))}/`) : HERE;
const OUT = new URL('results.json', folder);
/** As the file has it. Parts that are not measured now stay as they were, with the date of theirs. */
function stored(): Results {
  const before: Partial<Results> = existsSync(OUT) ? (JSON.parse(readFileSync(OUT, 'utf8')) as Results) : {};
  const machine = {
    cores: cpus().length,
    memoryGiB: Math.round(totalmem() / 1024 ** 3),
    node: process.version,
  };
  return { ...before, machine, runs: before.runs ?? {} };
}

let results = stored();
const command = ['npm run bench', ...(args.length > 0 ? ['--', ...args] : [])].join(' ');
const seconds = (fromMs: number) => Math.round((performance.now() - fromMs) / 100) / 10;
const load = () => Math.round((loadavg()[0] ?? 0) * 100) / 100;

async function measure<P extends Part>(part: P): Promise<void> {
  const [startedAt, loadBefore] = [performance.now(), load()];
  console.log(`\n${part}`);
  const found = (await PARTS[part]()) as Results[P];
  // Another part may have been measured meanwhile, by somebody else.
  results = stored();
  results[part] = found;
  results.runs[part] = {
    date: new Date().toISOString().slice(0, 10),
    command,
    tookS: seconds(startedAt),
    load: [loadBefore, load()],
  };
  print(part);
  writeFileSync(OUT, `${JSON.stringify(results, null, 1)}\n`);
  writeFileSync(new URL('report.html', folder), renderReport(results));
}

/** The parts that say nothing while they run. */
function print(part: Part): void {
  const { start, micro, reaction: reactions, memory: idle, long, webrtc } = results;
  if (part === 'start' && start)
    console.log(
      `${start.medianMs} ms to listening (${start.spreadMs.join(' to ')}); a bare node ${start.bareNodeMs} ms`,
    );
  if (part === 'micro')
    for (const { name, nsPerFrame, bytesPerFrame } of micro ?? [])
      console.log(
        `${name.padEnd(62)} ${String(nsPerFrame).padStart(8)} ns ${String(bytesPerFrame).padStart(6)} bytes`,
      );
  if (part === 'reaction')
    for (const { name, found } of reactions ?? [])
      console.log(
        `${name.padEnd(60)} p50 ${found.p50Ms}  p99 ${found.p99Ms ?? '-'}  max ${found.maxMs} ms  (n ${found.n})`,
      );
  if (part === 'memory' && idle)
    console.log(
      `an idle call: ${idle.residentKiBPerCall} KiB resident (${idle.heapKiBPerCall} heap, ${idle.externalKiBPerCall} outside)`,
    );
  if (part === 'long' && long)
    console.log(
      `${long.virtualMinutes} min of ${long.calls} calls in ${long.tookS} s: heap ${long.heapSlopeKiB} KiB per call and minute, ` +
        `collections ${(long.gcShare * 100).toFixed(1)} %, event loop p99 ${long.loopDelayP99Ms ?? '-'} ms, ` +
        `one step p99 ${long.step.p99Ms ?? '-'} ms, ${long.sessionsReplaced} model sessions replaced`,
    );
  if (part === 'webrtc')
    for (const { calls, cpuPerCall, in: inward, out } of webrtc?.runs ?? [])
      console.log(
        `${String(calls).padStart(4)} calls  ${(cpuPerCall * 100).toFixed(2)} % of a core each, ${(1 / cpuPerCall).toFixed(0)} for a core  ` +
          `in ${inward.p50Ms}/${inward.p99Ms ?? '-'}  out ${out.p50Ms}/${out.p99Ms ?? '-'} ms (n ${inward.n}, ${out.n})`,
      );
}

const unknown = wanted.filter((each) => !(each in PARTS));
if (unknown.length > 0) {
  console.error(`There is no part ${unknown.join(', ')}. There are: ${Object.keys(PARTS).join(', ')}.`);
  process.exit(2);
}
const startedAt = performance.now();
const failed: string[] = [];
for (const part of Object.keys(PARTS) as Part[]) {
  if (wanted.length > 0 && !wanted.includes(part)) continue;
  await measure(part).catch((error: unknown) => {
    failed.push(part);
    console.error(error);
  });
}
console.log();
for (const { figure, bar, found, verdict } of barsOf(results))
  console.log(`${verdict.padEnd(12)} ${figure}: ${found} (${bar})`);
console.log(
  `\n${fileURLToPath(OUT)} and report.html; ${Math.round(seconds(startedAt))} s` +
    `${failed.length > 0 ? `; FAILED: ${failed.join(', ')}` : ''}`,
);
process.exit(failed.length > 0 ? 1 : 0);
