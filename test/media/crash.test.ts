import { describe, expect, it } from 'vitest';
import { brokenPromises, crashRun, KILLS } from './crash.ts';

/** 20 kills here, 200 in `crash.long.test.ts`. A failing seed is run again alone by `CRASH_SEED`. */
const seeds = (count: number) =>
  process.env.CRASH_SEED
    ? [Number(process.env.CRASH_SEED)]
    : Array.from({ length: count / KILLS }, () => Math.floor(Math.random() * 2 ** 31));

describe('a gateway that is killed after any durable step, or in the middle of a send', () => {
  it('loses nothing, and sends nothing twice, where the carrier can tell', { timeout: 240_000 }, async () => {
    const all = seeds(14);
    console.log(`crash seeds: ${all.join(' ')}`);
    for (const seed of all) {
      const result = await crashRun(seed);
      expect(brokenPromises(result), `seed ${seed}: ${result.lives.join(' | ')}`).toEqual([]);
    }
  });

  it('leaves unknown, and sends nothing twice, where the carrier can not tell', {
    timeout: 240_000,
  }, async () => {
    const all = seeds(6);
    console.log(`crash seeds, no list: ${all.join(' ')}`);
    for (const seed of all) {
      const result = await crashRun(seed, true);
      expect(brokenPromises(result, true), `seed ${seed}: ${result.lives.join(' | ')}`).toEqual([]);
    }
  });
});
