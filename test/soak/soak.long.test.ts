/**
 * An hour of conversation, an hour of silence, five hundred deaths: what is left behind, in megabytes and in objects.
 * Needs `--expose-gc`, which `npm run test:long` gives. Prints what it measured.
 */

import { describe, expect, it } from 'vitest';
import { hangUp, placeCall } from '../bugs/line.ts';
import { converse } from './conversation.ts';
import { handles, heapMb, leftovers } from './leftovers.ts';
import { SEED } from './random.ts';
import { dieAtRandom } from './random-deaths.ts';

const mb = (value: number) => `${value.toFixed(2)} MB`;

describe('after an hour', () => {
  it('of frames, in which nobody says a word, the heap has grown by less than 1 MB', async () => {
    const line = await placeCall({ config: { limits: { maxCallS: 86_400, silenceTimeoutS: 3600 } } });
    const { carrier, clock, fake } = line;
    const minute = async (n: number) => {
      await clock.advance(n * 60_000 - clock.now());
      carrier.forget();
      fake.session.forget();
    };
    await minute(2);
    const before = await heapMb();
    for (let n = 3; n <= 54; n += 1) await minute(n);
    const grown = (await heapMb()) - before;
    console.log(`52 minutes of frames: the heap grew by ${mb(grown)}`);

    expect(grown).toBeLessThan(1);
    await hangUp(line);
  });

  it('with a tool or an interruption every few seconds, nothing is left', async () => {
    await converse(2);
    const before = { heap: await heapMb(), objects: await leftovers(), handles: handles() };
    const heaps: number[] = [];

    const tally = await converse(60, async (minute) => {
      if (minute % 10 === 0) heaps.push(await heapMb());
    });

    const after = await heapMb();
    console.log(
      `an hour: ${tally.turns} turns, ${tally.tools} tools, ${tally.interruptions} interruptions, ` +
        `${tally.sessions} sessions; heap before ${mb(before.heap)}, at each tenth minute ` +
        `${heaps.map(mb).join(', ')}, after ${mb(after)}`,
    );
    expect(tally.turns).toBeGreaterThan(700);
    expect(tally.tools).toBeGreaterThan(500);
    expect(tally.interruptions).toBeGreaterThan(300);
    expect(tally.listeners.last).toBe(tally.listeners.first);
    expect(tally.timers.last).toBe(tally.timers.first);
    expect(tally.pending).toBe(0);
    expect(after - before.heap).toBeLessThan(1);
    // While it goes on: the call's own record of 20,000 events at most, and the doubles' conversation.
    expect(heaps.at(-1)! - heaps[0]!).toBeLessThan(4);
    expect(await leftovers()).toEqual(before.objects);
    expect(handles()).toBeLessThanOrEqual(before.handles);
  });
});

describe('after five hundred calls', () => {
  it(`that died at random points, nothing is left (seed ${SEED})`, async () => {
    await dieAtRandom(20, SEED + 1);
    const before = { heap: await heapMb(), objects: await leftovers(), handles: handles() };

    const deaths = await dieAtRandom(500, SEED);

    const after = await heapMb();
    console.log(
      `500 calls (seed ${SEED}): ${JSON.stringify(deaths.reasons)}; heap before ${mb(before.heap)}, after ${mb(after)}`,
    );
    expect(deaths).toMatchObject({
      calls: 500,
      pending: 0,
      activeCalls: 0,
      openSessions: 0,
      openCarriers: 0,
      violations: [],
    });
    expect(after - before.heap).toBeLessThan(2);
    expect(await leftovers()).toEqual(before.objects);
    expect(handles()).toBeLessThanOrEqual(before.handles);
  });
});
