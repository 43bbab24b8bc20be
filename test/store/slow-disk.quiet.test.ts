import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { openStore, type Store } from '../../src/store/index.ts';
import { tempDir } from './temp.ts';

const dir = tempDir('store-slow-disk');
const FRAME_MS = 20;
const FSYNC_MS = 50;
const ALLOWED_EXTRA_MS = 2;
/** Idle and busy frames take turns in segments, so that a noisy neighbour meets both alike. */
const SEGMENTS = 6;
const SEGMENT_FRAMES = 25;
/** Even so another process can spoil one measurement; it can't spoil every one. */
const ATTEMPTS = 8;
/** An idle ticker that is later than this says nothing about a difference of 2 ms: that measurement doesn't count. */
const TOO_NOISY_MS = 8;

const p99 = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * 0.99) - 1] ?? Number.NaN;

/** How late each frame of a 20 ms ticker on this thread was, in ms; real time, as audio is. */
async function lateness(everyFrame: () => void): Promise<number[]> {
  const late: number[] = [];
  const start = performance.now();
  for (let frame = 1; frame <= SEGMENT_FRAMES; frame += 1) {
    await sleep(Math.max(0, start + frame * FRAME_MS - performance.now()));
    late.push(performance.now() - (start + frame * FRAME_MS));
    everyFrame();
  }
  return late;
}

/** p99 with `load` in every frame, less p99 without; `null` when the machine was too noisy to tell. */
async function extraDelay(
  load: () => void,
  settle: () => Promise<unknown>,
  segments = SEGMENTS,
): Promise<number | null> {
  const idle: number[] = [];
  const busy: number[] = [];
  for (let segment = 0; segment < segments; segment += 1) {
    idle.push(...(await lateness(() => {})));
    busy.push(...(await lateness(load)));
    await settle();
  }
  return p99(idle) < TOO_NOISY_MS ? p99(busy) - p99(idle) : null;
}

/** Keeps one commit at the disk and one waiting behind it. */
function busyWriter(store: Store) {
  const running = new Set<Promise<void>>();
  let turn = 0;
  const writer = {
    commits: 0,
    load() {
      if (running.size >= 2) return;
      turn += 1;
      const work = store.openTurn({ callId: 'c', turn, sessionKey: 'realtime:c', startedAt: turn });
      running.add(work);
      void work.then(() => {
        writer.commits += 1;
        running.delete(work);
      });
    },
    settle: () => Promise.all(running),
  };
  return writer;
}

describe('a disk that takes 50 ms for every commit', () => {
  it('adds less than 2 ms to the 99th percentile of a 20 ms audio ticker', {
    timeout: 120_000,
  }, async (context) => {
    const store = await openStore({
      engine: 'sqlite',
      file: join(dir, 'slow.db'),
      testCommitDelayMs: FSYNC_MS,
    });
    await store.beginCall({
      id: 'c',
      sessionKey: 'realtime:c',
      carrier: 'wav',
      provider: 'command',
      identityStrength: 'none',
      startedAt: 1,
    });
    const extras: (number | null)[] = [];
    const isGood = (extra: number | null | undefined) =>
      typeof extra === 'number' && extra < ALLOWED_EXTRA_MS;

    while (extras.length < ATTEMPTS && !extras.some(isGood)) {
      const writer = busyWriter(store);
      const started = performance.now();
      extras.push(await extraDelay(writer.load, writer.settle));

      // The disk was really busy for the busy half, and really slow.
      expect(writer.commits).toBeGreaterThan((SEGMENTS * SEGMENT_FRAMES * FRAME_MS) / FSYNC_MS / 2);
      expect(writer.commits).toBeLessThanOrEqual((performance.now() - started) / FSYNC_MS);
    }
    await store.close();

    const shown = extras.map((each) => each?.toFixed(2) ?? 'too noisy').join(', ');
    console.info(`slow disk: p99 extra delay, ms: ${shown}`);
    context.skip(
      extras.every((each) => each === null),
      `this machine is too busy to measure 2 ms: an idle ticker alone is later than ${TOO_NOISY_MS} ms`,
    );
    expect(extras.some(isGood), shown).toBe(true);
  });

  it('would be heard if the wait were on the main thread', { timeout: 60_000 }, async (context) => {
    const never = new Int32Array(new SharedArrayBuffer(4));
    let frames = 0;
    const blockNowAndThen = () => {
      frames += 1;
      if (frames % 5 === 0) Atomics.wait(never, 0, 0, FSYNC_MS);
    };
    let extra: number | null = null;

    for (let attempt = 0; attempt < ATTEMPTS && extra === null; attempt += 1) {
      extra = await extraDelay(blockNowAndThen, async () => {}, 2);
    }

    context.skip(extra === null, 'this machine is too busy to measure');
    expect(extra).toBeGreaterThan(10);
  });
});
