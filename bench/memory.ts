/**
 * Memory of one idle call: callers on the line whose frames come as always, a realtime model that says nothing, beside
 * the same gateway with fifty calls. Resident memory as the system counts it, and the heap after a collection.
 *
 *   node bench/memory.ts [calls]
 *
 * @module
 */

import { ask, next, start, stop, usageOf } from './lib/child.ts';
import { ours } from './relay/contestants.ts';

export interface MemoryResult {
  readonly calls: number;
  readonly residentKiBPerCall: number;
  readonly heapKiBPerCall: number;
  readonly externalKiBPerCall: number;
  readonly processMiB: number;
}

/** The calls before are part of the floor: with them the process has grown to what it needs anyway. */
const BASE = 50;
const SETTLE_MS = 4000;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const ready = (message: unknown) => (message as { ready?: string }).ready;

export async function memory(calls: number, heapSnapshot = false): Promise<MemoryResult> {
  const model = start('bench/relay/model.ts', { args: ['silent'] });
  const modelUrl = await next(model, ready);
  const carriers = start('bench/relay/carriers.ts');
  await next(carriers, ready);
  const server = await ours.start(modelUrl, ['--expose-gc']);
  try {
    await ask(carriers, { ask: 'dial', count: BASE, target: server.target });
    await wait(SETTLE_MS);
    const before = await usageOf(server.child, true);
    await ask(carriers, { ask: 'dial', count: calls, target: server.target });
    await wait(SETTLE_MS);
    const after = await usageOf(server.child, true);
    if (heapSnapshot) {
      server.child.send({ snapshot: 'bench.heapsnapshot' });
      await wait(20_000);
    }
    const each = (key: 'rss' | 'heapUsed' | 'external') =>
      Math.round((after[key] - before[key]) / 1024 / calls);
    return {
      calls,
      residentKiBPerCall: each('rss'),
      heapKiBPerCall: each('heapUsed'),
      externalKiBPerCall: each('external'),
      processMiB: Math.round(before.rss / 1024 / 1024),
    };
  } finally {
    await server.stop();
    await stop(carriers);
    await stop(model);
  }
}

if (import.meta.main) {
  const result = await memory(Number(process.argv[2] ?? 100), process.argv[3] === 'snapshot');
  console.log(`gateway with ${BASE} calls   ${result.processMiB} MiB resident`);
  console.log(
    `one more idle call      ${result.residentKiBPerCall} KiB resident, ${result.heapKiBPerCall} KiB of heap, ` +
      `${result.externalKiBPerCall} KiB outside it (${result.calls} calls)`,
  );
}
