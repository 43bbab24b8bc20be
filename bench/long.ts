/**
 * An hour of calls in virtual time: a hundred of them, both ways speaking all the time, as fast as the machine goes.
 * What grows would show: the heap's slope between the first quarter and the end, the share of garbage collection, and
 * how long the event loop was held by one step of 20 ms of all calls.
 *
 *   node --expose-gc bench/long.ts [minutes] [calls]
 *
 * @module
 */

import { PerformanceObserver } from 'node:perf_hooks';
import { VirtualClock } from '../src/clock-virtual.ts';
import { FakeGateway } from '../src/testing/index.ts';
import { type Distribution, Histogram } from './lib/histogram.ts';
import { openLines } from './lib/lines.ts';

export interface LongResult {
  readonly calls: number;
  readonly virtualMinutes: number;
  readonly tookS: number;
  /** Growth of the collected heap, in KiB for each call and minute, from the first quarter to the end. */
  readonly heapSlopeKiB: number;
  /** One step of 20 ms of all calls. */
  readonly step: Distribution;
  readonly gcShare: number;
}

/** Answers last a quarter of a minute. */
const ANSWER_STEPS = 750;

function heap(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed;
}

export async function long(virtualMinutes: number, calls: number): Promise<LongResult> {
  const clock = new VirtualClock();
  const { lines, dial, close } = await openLines(clock, new FakeGateway({ tools: {} }));
  const dialled = dial(calls);
  await clock.advance(1000);
  await dialled;
  const marks: string[][] = lines.map(() => []);
  lines.forEach((line, i) => {
    line.onCarrier = (text) => {
      if (text.includes('"mark"')) marks[i]?.push(text);
    };
  });
  let gcMs = 0;
  const observer = new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) gcMs += entry.duration;
  });
  const steps = virtualMinutes * 3000;
  const quarter = Math.floor(steps / 4);
  const histogram = new Histogram();
  let firstHeap = 0;
  observer.observe({ entryTypes: ['gc'] });
  const startedAt = performance.now();
  for (let step = 0; step < steps; step += 1) {
    const stepAt = performance.now();
    for (const [i, line] of lines.entries()) {
      if (step % ANSWER_STEPS === 0) {
        if (step > 0) line.endAnswer();
        line.beginAnswer();
      }
      line.carrier(line.mediaText());
      line.modelText(line.deltaText());
      const waiting = marks[i] ?? [];
      if (waiting.length > 1) for (const mark of waiting.splice(0)) line.carrier(mark);
    }
    await clock.advance(20);
    histogram.add((performance.now() - stepAt) * 1000);
    if (step === quarter) firstHeap = heap();
  }
  const tookMs = performance.now() - startedAt;
  const grown = heap() - firstHeap;
  observer.disconnect();
  await close();
  return {
    calls,
    virtualMinutes,
    tookS: Math.round(tookMs / 100) / 10,
    heapSlopeKiB: Math.round((grown / 1024 / calls / ((virtualMinutes * 3) / 4)) * 100) / 100,
    step: histogram.read(),
    gcShare: gcMs / tookMs,
  };
}

if (import.meta.main) {
  const result = await long(Number(process.argv[2] ?? 60), Number(process.argv[3] ?? 100));
  console.log(JSON.stringify(result));
  process.exit();
}
