/** The short form of soak.long.test.ts: minutes instead of an hour, and what is left behind in objects, not in MB. */

import { describe, expect, it } from 'vitest';
import { converse } from './conversation.ts';
import { handles, leftovers } from './leftovers.ts';
import { SEED } from './random.ts';
import { dieAtRandom } from './random-deaths.ts';

describe('after a while', () => {
  it('of five minutes with a tool or an interruption every few seconds, nothing is left', async () => {
    const before = await leftovers();
    const handlesBefore = handles();

    const tally = await converse(5);

    expect(tally.turns).toBeGreaterThan(60);
    expect(tally.tools).toBeGreaterThan(40);
    expect(tally.interruptions).toBeGreaterThan(25);
    expect(tally.listeners.last).toBe(tally.listeners.first);
    expect(tally.timers.last).toBe(tally.timers.first);
    expect(tally.pending).toBe(0);
    expect(await leftovers()).toEqual(before);
    expect(handles()).toBeLessThanOrEqual(handlesBefore);
  });

  it(`60 calls that died at random points have left nothing (seed ${SEED})`, async () => {
    const before = await leftovers();
    const handlesBefore = handles();

    const deaths = await dieAtRandom(60, SEED);

    expect(deaths).toMatchObject({
      calls: 60,
      pending: 0,
      activeCalls: 0,
      openSessions: 0,
      openCarriers: 0,
      violations: [],
    });
    expect(Object.keys(deaths.reasons).length).toBeGreaterThan(3);
    expect(await leftovers()).toEqual(before);
    expect(handles()).toBeLessThanOrEqual(handlesBefore);
  });
});
