/**
 * The phone relay over one process and over workers behind one port, plain and with TLS of our own: what a call costs, and how
 * much of the machine the same calls may use. Callers and the model are processes of their own on the same cores, so on two
 * cores nobody sees the number of calls double: what is compared is CPU per call, and the delay at calls that one process can
 * hardly carry.
 *
 *     node bench/workers.ts [calls[,calls…]] [rounds] [measured ms]
 *
 * @module
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { startGateway } from './gateway.ts';
import { ask, next, start, stop } from './lib/child.ts';
import { type Distribution, median, spread } from './lib/histogram.ts';
import { nowUs } from './lib/monotonic.ts';
import { OURS_CONFIG, OURS_ENV } from './relay/contestants.ts';

export interface WorkersKind {
  /** `null`: `start` without the flag. */
  readonly workers: number | null;
  readonly tls: boolean;
}

/** Medians of the runs of one kind at one number of calls. */
export interface WorkersSummary extends WorkersKind {
  readonly calls: number;
  readonly runs: number;
  /** Share of one core that a call takes, over all processes of the gateway. */
  readonly cpuPerCall: number;
  readonly cpuSpread: readonly [number, number];
  /** Share of one core that the process that listens takes, for all calls; 0 where there is one process. */
  readonly primaryCpu: number;
  readonly upMs: readonly [p50: number, p99: number | null];
  readonly downMs: readonly [p50: number, p99: number | null];
  readonly dropped: number;
}

interface Run {
  readonly cpuPerCall: number;
  readonly primaryCpu: number;
  readonly up: Distribution;
  readonly down: Distribution;
  readonly dropped: number;
  readonly load: number;
}

export const ALL_KINDS: readonly WorkersKind[] = [
  { workers: null, tls: false },
  { workers: 1, tls: false },
  { workers: 2, tls: false },
  { workers: null, tls: true },
  { workers: 2, tls: true },
];
/** What `--workers` and TLS add, and nothing between. */
export const FEW_KINDS: readonly WorkersKind[] = ALL_KINDS.filter(
  ({ workers, tls }) => workers === 2 || (workers === null && !tls),
);
const WARM_MS = 2000;
/** Of the kernel's clock for CPU time (`getconf CLK_TCK`). */
const TICK_US = 10_000;

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const ready = (message: unknown) => (message as { ready?: string }).ready;

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
  return text.trim().split(' ').filter(Boolean).map(Number);
}

/** User and system time of all threads, in µs. */
function cpuUs(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_US;
}

interface Certificate {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
  remove(): void;
}

/** `null` without openssl. */
function certificate(): Certificate | null {
  const folder = mkdtempSync(join(tmpdir(), 'bench-tls-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const kind = ['-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const whose = [
    '-subj',
    '/CN=bench',
    '-addext',
    'subjectAltName=IP:127.0.0.1',
    '-keyout',
    key,
    '-out',
    cert,
  ];
  try {
    execFileSync('openssl', ['req', ...kind, ...whose], { stdio: 'ignore' });
  } catch {
    remove();
    return null;
  }
  return { cert, key, ca: readFileSync(cert, 'utf8'), remove };
}

async function run(
  kind: WorkersKind,
  own: Certificate | null,
  calls: number,
  measureMs: number,
): Promise<Run> {
  const load = loadavg()[0] ?? 0;
  const model = start('bench/relay/model.ts');
  const modelUrl = await next(model, ready);
  const carriers = start('bench/relay/carriers.ts');
  await next(carriers, ready);
  const caller = kind.tls ? start('bench/lib/tls-caller.ts') : null;
  const plain = caller && (await next(caller, ready));
  const tls = kind.tls && own ? { tls: { cert: own.cert, key: own.key }, publicUrl: plain } : {};
  const gateway = await startGateway(
    {
      ...OURS_CONFIG,
      server: { ...OURS_CONFIG.server, ...tls },
      model: { provider: 'openai', baseUrl: modelUrl },
    },
    { env: OURS_ENV, flags: kind.workers === null ? [] : ['--workers', String(kind.workers)] },
  );
  const pid = gateway.child.pid ?? 0;
  const all = () => [pid, ...(kind.workers === null ? [] : childrenOf(pid))];
  const usage = () => all().reduce((sum, each) => sum + cpuUs(each), 0);
  const target = {
    webhook: `${plain ?? gateway.url}/twilio/voice`,
    authToken: OURS_ENV.TWILIO_AUTH_TOKEN,
  };
  try {
    if (caller) {
      const told = next(caller, (message) => (message as { reply?: object }).reply);
      caller.send({ to: { port: Number(new URL(gateway.url).port), ca: own?.ca } });
      await told;
    }
    // The first calls load code, in each worker; they are not what a call costs.
    await ask(carriers, { ask: 'dial', count: 4, target });
    await wait(500);
    await ask(carriers, { ask: 'dial', count: calls - 4, target });
    await wait(WARM_MS);
    await Promise.all([ask(model, { ask: 'reset' }), ask(carriers, { ask: 'reset' })]);
    const [before, primaryBefore, startUs] = [usage(), cpuUs(pid), nowUs()];
    await wait(measureMs);
    const [after, primaryAfter, tookUs] = [usage(), cpuUs(pid), nowUs() - startUs];
    const [{ up }, { down, calls: left }] = await Promise.all([
      ask<{ up: Distribution }>(model, { ask: 'read' }),
      ask<{ down: Distribution; calls: number }>(carriers, { ask: 'read' }),
    ]);
    return {
      cpuPerCall: (after - before) / tookUs / calls,
      primaryCpu: kind.workers === null ? 0 : (primaryAfter - primaryBefore) / tookUs,
      up,
      down,
      dropped: calls - left,
      load,
    };
  } finally {
    // Its workers end with it.
    await gateway.stop();
    for (const child of [carriers, model, caller]) if (child) await stop(child);
  }
}

export const nameOfWorkers = ({ workers, tls }: WorkersKind): string =>
  (workers === null ? 'one process' : `${workers} worker${workers === 1 ? '' : 's'}`) + (tls ? ', TLS' : '');

function summary(kind: WorkersKind, calls: number, runs: readonly Run[]): WorkersSummary {
  const of = (pick: (each: Run) => number) => median(runs.map(pick));
  const p99 = (way: 'up' | 'down') => {
    const all = runs.map((each) => each[way].p99Ms).filter((ms) => ms !== null);
    return all.length === runs.length ? median(all) : null;
  };
  return {
    ...kind,
    calls,
    runs: runs.length,
    cpuPerCall: of((each) => each.cpuPerCall),
    cpuSpread: spread(runs.map((each) => each.cpuPerCall)),
    primaryCpu: of((each) => each.primaryCpu),
    upMs: [of((each) => each.up.p50Ms), p99('up')],
    downMs: [of((each) => each.down.p50Ms), p99('down')],
    dropped: runs.reduce((sum, each) => sum + each.dropped, 0),
  };
}

/** In turn, so that what the machine does meanwhile hits all of them. Without openssl nothing is measured with TLS. */
export async function workers(
  wanted: readonly WorkersKind[],
  steps: readonly number[],
  rounds: number,
  measureMs: number,
): Promise<WorkersSummary[]> {
  const own = certificate();
  const kinds = wanted.filter(({ tls }) => !tls || own);
  const summaries: WorkersSummary[] = [];
  try {
    for (const calls of steps) {
      const runs = new Map(kinds.map((kind) => [kind, [] as Run[]]));
      for (let round = 0; round < rounds; round += 1)
        for (const kind of kinds) runs.get(kind)?.push(await run(kind, own, calls, measureMs));
      for (const [kind, each] of runs) {
        const found = summary(kind, calls, each);
        summaries.push(found);
        console.log(line(found));
      }
    }
  } finally {
    own?.remove();
  }
  return summaries;
}

function line(found: WorkersSummary): string {
  const { calls, cpuPerCall, cpuSpread, primaryCpu, upMs, downMs, dropped } = found;
  const percent = (share: number) => (share * 100).toFixed(3);
  return (
    `${nameOfWorkers(found).padEnd(17)} ${String(calls).padStart(4)} calls  ${percent(cpuPerCall)} % of a core each ` +
    `(${cpuSpread.map(percent).join(' to ')}), listening ${percent(primaryCpu)} %  up ${upMs.join('/')}  ` +
    `down ${downMs.join('/')} ms  dropped ${dropped}`
  );
}

if (import.meta.main) {
  const [counts = '100,300', rounds = '2', measureMs = '8000'] = process.argv.slice(2);
  await workers(ALL_KINDS, counts.split(',').map(Number), Number(rounds), Number(measureMs));
  process.exit(0);
}
