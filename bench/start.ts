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

const runs = Number(process.argv[2] ?? 7);

function bareNode(): number {
  const startedAt = performance.now();
  spawnSync(process.execPath, ['-e', '0']);
  return performance.now() - startedAt;
}

const ours: number[] = [];
const bare: number[] = [];
for (let run = 0; run <= runs; run++) {
  const bareMs = bareNode();
  const gateway = await startGateway({ model: { provider: 'command' } });
  await gateway.stop();
  // The first run warms the disk's cache and does not count.
  if (run === 0) continue;
  bare.push(bareMs);
  ours.push(gateway.startMs);
}
const [start, floor] = [median(ours), median(bare)];
console.log(`${runs} runs, offline model`);
console.log(
  `start to listening   median ${start.toFixed(0)} ms   (${Math.min(...ours).toFixed(0)} to ${Math.max(...ours).toFixed(0)})`,
);
console.log(`a bare node process  median ${floor.toFixed(0)} ms   ratio ${(start / floor).toFixed(1)}`);
