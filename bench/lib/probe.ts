/**
 * Loaded into a measured process with `--import`: answers what it has used so far. It asks nothing of the program.
 *
 * @module
 */

import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import { writeHeapSnapshot } from 'node:v8';

export interface Usage {
  /** CPU of the whole process, all its threads, user and system, in µs since it began (`process.cpuUsage`). */
  readonly cpuUs: number;
  readonly rss: number;
  readonly heapUsed: number;
  readonly external: number;
  /** Event-loop delay since the last question, in ms. */
  readonly delayP99Ms: number;
  readonly delayMaxMs: number;
  /** Time in garbage collections since the process began, in ms. */
  readonly gcMs: number;
}

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();
let gcMs = 0;
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) gcMs += entry.duration;
}).observe({ entryTypes: ['gc'] });

process.on('message', (message: { probe?: number; collect?: boolean }) => {
  if (message.probe === undefined) return;
  if (message.collect) globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const { rss, heapUsed, external } = process.memoryUsage();
  const usage: Usage = {
    cpuUs: user + system,
    rss,
    heapUsed,
    external,
    delayP99Ms: delay.percentile(99) / 1e6,
    delayMaxMs: delay.max / 1e6,
    gcMs,
  };
  delay.reset();
  process.send?.({ probe: message.probe, usage });
});
process.on('message', ({ snapshot }: { snapshot?: string }) => {
  if (snapshot !== undefined) writeHeapSnapshot(snapshot);
});

const inspector = new Session();

process.on('message', async ({ profile }: { profile?: 'start' | { readonly file: string } }) => {
  if (profile === undefined) return;
  if (profile === 'start') {
    inspector.connect();
    await inspector.post('Profiler.enable');
    await inspector.post('Profiler.setSamplingInterval', { interval: 500 });
    await inspector.post('Profiler.start');
  } else {
    writeFileSync(profile.file, JSON.stringify((await inspector.post('Profiler.stop')).profile));
    process.send?.({ profiled: profile.file });
  }
});
// Whoever measures is gone: nothing of the benchmark outlives it.
process.on('disconnect', () => process.exit());
// The channel alone keeps nothing alive.
process.channel?.unref();
