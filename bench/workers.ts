/**
 * The phone relay over one process and over workers behind one port: what a call costs, and how much of the machine the
 * same calls may use. Callers and the model are processes of their own on the same cores, so on two cores nobody sees the
 * number of calls double: what is compared is CPU per call, and the delay at calls that one process can hardly carry.
 *
 *     node bench/workers.ts [calls[,calls…]] [rounds] [measured ms]
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { availableParallelism, loadavg } from 'node:os';
import { startGateway } from './gateway.ts';
import { ask, next, start, stop } from './lib/child.ts';
import type { Distribution } from './lib/histogram.ts';
import { nowUs } from './lib/monotonic.ts';
import { OURS_CONFIG, OURS_ENV } from './relay/contestants.ts';

/** `null`: `start` without the flag. */
const WORKERS: readonly (number | null)[] = [null, 1, 2];
const WARM_MS = 3000;
/** Of the kernel's clock for CPU time (`getconf CLK_TCK`). */
const TICK_US = 10_000;

interface Run {
  readonly workers: number | null;
  readonly calls: number;
  /** Share of one core that a call takes, over all processes of the gateway. */
  readonly cpuPerCall: number;
  /** Of that, what the process that listens takes; 0 where there is one process. */
  readonly primaryCpu: number;
  readonly up: Distribution;
  readonly down: Distribution;
  readonly dropped: number;
  readonly load: number;
}

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

async function run(workers: number | null, calls: number, measureMs: number): Promise<Run> {
  const load = loadavg()[0] ?? 0;
  const model = start('bench/relay/model.ts');
  const modelUrl = await next(model, ready);
  const carriers = start('bench/relay/carriers.ts');
  await next(carriers, ready);
  const gateway = await startGateway(
    { ...OURS_CONFIG, model: { provider: 'openai', baseUrl: modelUrl } },
    { env: OURS_ENV, flags: workers === null ? [] : ['--workers', String(workers)] },
  );
  const pid = gateway.child.pid ?? 0;
  const all = () => [pid, ...(workers === null ? [] : childrenOf(pid))];
  const usage = () => all().reduce((sum, each) => sum + cpuUs(each), 0);
  const target = { webhook: `${gateway.url}/twilio/voice`, authToken: OURS_ENV.TWILIO_AUTH_TOKEN };
  try {
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
      workers,
      calls,
      cpuPerCall: (after - before) / tookUs / calls,
      primaryCpu: workers === null ? 0 : (primaryAfter - primaryBefore) / tookUs,
      up,
      down,
      dropped: calls - left,
      load,
    };
  } finally {
    // Its workers end with it.
    await gateway.stop();
    await stop(carriers);
    await stop(model);
  }
}

function line({ workers, calls, cpuPerCall, primaryCpu, up, down, dropped, load }: Run): string {
  const name = workers === null ? 'one process' : `${workers} worker${workers === 1 ? '' : 's'}`;
  return (
    `${name.padEnd(12)} ${String(calls).padStart(4)} calls  ${(cpuPerCall * 100).toFixed(4)} % of a core per call ` +
    `(${(cpuPerCall * calls).toFixed(2)} cores, listening ${(primaryCpu * 100).toFixed(2)} %)  ` +
    `up ${up.p50Ms}/${up.p99Ms}  down ${down.p50Ms}/${down.p99Ms} ms (n ${down.n})  dropped ${dropped}  load ${load.toFixed(1)}`
  );
}

const [counts = '100,300', rounds = '2', measureMs = '8000'] = process.argv.slice(2);
console.log(
  `${availableParallelism()} cores, shared with the callers and the model; p50/p99 of the added delay`,
);
for (const calls of counts.split(',').map(Number)) {
  const runs: Run[] = [];
  for (let round = 0; round < Number(rounds); round += 1)
    for (const workers of WORKERS) {
      const each = await run(workers, calls, Number(measureMs));
      console.log(line(each));
      runs.push(each);
    }
  const best = (workers: number | null) =>
    Math.min(...runs.filter((each) => each.workers === workers).map((each) => each.cpuPerCall));
  const ratio = (workers: number) => (best(workers) / best(null)).toFixed(2);
  console.log(
    `${calls} calls: CPU per call, 1 worker ${ratio(1)} ×, 2 workers ${ratio(2)} × of one process\n`,
  );
}
