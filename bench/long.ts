/**
 * An hour of calls in virtual time: a hundred of them, both ways speaking all the time, as fast as the machine goes.
 * What grows would show: the slope of the collected heap, the share of garbage collection, and how long the event loop
 * was held. In virtual time the loop never waits: it is held by the work of one step, 20 ms of all calls at once, so its
 * delay is what a packet of a real call waits for at most when all of them come in one volley.
 *
 *   node --expose-gc bench/long.ts [minutes] [calls]
 *
 * @module
 */

import {
  constants,
  monitorEventLoopDelay,
  type PerformanceNodeEntry,
  PerformanceObserver,
} from 'node:perf_hooks';
import { VirtualClock } from '../src/clock-virtual.ts';
import { FakeGateway } from '../src/testing/index.ts';
import { type Distribution, Histogram, MIN_SAMPLES_FOR_P99, slope } from './lib/histogram.ts';
import { openLines } from './lib/lines.ts';

export interface LongResult {
  readonly calls: number;
  readonly virtualMinutes: number;
  readonly tookS: number;
  /** Growth of the collected heap, in KiB for each call and minute: the straight line through it after the first quarter. */
  readonly heapSlopeKiB: number;
  /** The collected heap in MiB, at even distances from the beginning to the end. */
  readonly heapMiB: readonly number[];
  /** The same before the first call, and when all have hung up: what of the growth was the calls' own. */
  readonly heapIdleMiB?: readonly [before: number, after: number];
  /** One step of 20 ms of all calls. */
  readonly step: Distribution;
  /** By how much a timer of 1 ms was late (`monitorEventLoopDelay`), in ms; `null` with fewer than 1,000 samples. */
  readonly loopDelayP99Ms: number | null;
  readonly loopDelayMaxMs: number;
  /** Share of the time that collections took; those that we asked for are left out. */
  readonly gcShare: number;
  /** Model sessions that came to their limit meanwhile, and were replaced. */
  readonly sessionsReplaced: number;
}

/** Answers last a quarter of a minute. */
const ANSWER_STEPS = 750;
/** The collected heap is looked at so often. */
const LOOKS = 24;
const LOOP_RESOLUTION_MS = 1;

interface GcDetail {
  readonly flags?: number;
}

function heap(): number {
  globalThis.gc?.();
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 1024;
}

export async function long(virtualMinutes: number, calls: number): Promise<LongResult> {
  const clock = new VirtualClock();
  const { lines, dial, hangUp, close } = await openLines(clock, new FakeGateway({ tools: {} }));
  const mib = (kib: number) => Math.round(kib / 102.4) / 10;
  const idleKiB = heap();
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
    for (const entry of list.getEntries()) {
      const { flags = 0 } = ((entry as PerformanceNodeEntry).detail ?? {}) as GcDetail;
      if ((flags & constants.NODE_PERFORMANCE_GC_FLAGS_FORCED) === 0) gcMs += entry.duration;
    }
  });
  const delay = monitorEventLoopDelay({ resolution: LOOP_RESOLUTION_MS });
  const steps = virtualMinutes * 3000;
  const lookEvery = Math.floor(steps / LOOKS);
  const heapKiB: [minute: number, kib: number][] = [];
  const histogram = new Histogram();
  const answered = lines.map(() => 0);
  let lookedMs = 0;
  observer.observe({ entryTypes: ['gc'] });
  const startedAt = performance.now();
  delay.enable();
  for (let step = 0; step < steps; step += 1) {
    const stepAt = performance.now();
    for (const [i, line] of lines.entries()) {
      // A new session knows nothing of the answer that the one before was speaking.
      if (step % ANSWER_STEPS === 0 || answered[i] !== line.sessions) {
        if (answered[i] === line.sessions) line.endAnswer();
        answered[i] = line.sessions;
        line.beginAnswer();
      }
      line.carrier(line.mediaText());
      line.modelText(line.deltaText());
      const waiting = marks[i] ?? [];
      if (waiting.length > 1) for (const mark of waiting.splice(0)) line.carrier(mark);
    }
    await clock.advance(20);
    histogram.add((performance.now() - stepAt) * 1000);
    if (step % lookEvery !== lookEvery - 1) continue;
    // What we do here is none of the calls' work.
    delay.disable();
    const lookAt = performance.now();
    heapKiB.push([(step + 1) / 3000, heap()]);
    lookedMs += performance.now() - lookAt;
    await new Promise((resolve) => setImmediate(resolve));
    delay.enable();
  }
  delay.disable();
  const tookMs = performance.now() - startedAt - lookedMs;
  await new Promise((resolve) => setTimeout(resolve, 20));
  observer.disconnect();
  const sessionsReplaced = lines.reduce((sum, { sessions }) => sum + sessions - 1, 0);
  for (const line of lines) {
    hangUp(line);
    line.letGo();
  }
  marks.length = 0;
  await clock.advance(60_000);
  const leftKiB = heap();
  await close();
  const late = (ns: number) => Math.round(Math.max(0, ns / 1e6 - LOOP_RESOLUTION_MS) * 100) / 100;
  return {
    calls,
    virtualMinutes,
    tookS: Math.round(tookMs / 100) / 10,
    heapSlopeKiB: Math.round((slope(heapKiB.slice(LOOKS / 4 - 1)) / calls) * 100) / 100,
    heapMiB: heapKiB.map(([, kib]) => mib(kib)),
    heapIdleMiB: [mib(idleKiB), mib(leftKiB)],
    step: histogram.read(),
    loopDelayP99Ms: delay.count < MIN_SAMPLES_FOR_P99 ? null : late(delay.percentile(99)),
    loopDelayMaxMs: late(delay.max),
    gcShare: gcMs / tookMs,
    sessionsReplaced,
  };
}

if (import.meta.main) {
  const result = await long(Number(process.argv[2] ?? 60), Number(process.argv[3] ?? 100));
  console.log(JSON.stringify(result));
  process.exit();
}
