/**
 * How long `npm start` takes until it listens, beside a Node process that does nothing, in turn.
 *
 *   node bench/start.ts [runs]
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { startGateway } from './gateway.ts';
import { median } from './lib/histogram.ts';

export interface StartResult {
  readonly runs: number;
  readonly medianMs: number;
  readonly spreadMs: readonly [number, number];
  readonly bareNodeMs: number;
}

function bareNode(): number {
  const startedAt = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  return performance.now() - startedAt;
}

export async function startTimes(runs: number): Promise<StartResult> {
  const ours: number[] = [];
  const bare: number[] = [];
  for (let run = 0; run <= runs; run++) {
    const bareMs = bareNode();
    const gateway = await startGateway({ model: { provider: 'command' } });
    // What it compiled is written down after it listens.
    await new Promise((resolve) => setTimeout(resolve, run === 0 ? 3000 : 200));
    await gateway.stop();
    // The first run warms the caches and does not count.
    if (run === 0) continue;
    bare.push(bareMs);
    ours.push(gateway.startMs);
  }
  return {
    runs,
    medianMs: Math.round(median(ours)),
    spreadMs: [Math.round(Math.min(...ours)), Math.round(Math.max(...ours))],
    bareNodeMs: Math.round(median(bare)),
  };
}

if (import.meta.main) {
  const { runs, medianMs, spreadMs, bareNodeMs } = await startTimes(Number(process.argv[2] ?? 7));
  console.log(`${runs} runs, offline model`);
  console.log(`start to listening   median ${medianMs} ms   (${spreadMs.join(' to ')})`);
  console.log(`a bare node process  median ${bareNodeMs} ms   ratio ${(medianMs / bareNodeMs).toFixed(1)}`);
}
