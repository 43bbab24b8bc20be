import { describe, expect, it } from 'vitest';
import { checkTruth, crash, randomMs } from './crash.ts';

describe('a process that is killed', { timeout: 240_000 }, () => {
  it.each([
    ['persisted', 'pending', 0],
    ['prompted', 'pending', 0],
    // Decided is approved: another start runs it, for the first time.
    ['decided', 'executed', 1],
    ['claimed', 'unknown', 0],
    ['executing', 'unknown', 1],
    ['executed', 'executed', 1],
  ])('right after %s leaves a record that comes out as %s, and %i runs', async (point, status, runs) => {
    const result = await crash(point, 1);

    checkTruth(result);
    expect(result.records.map((each) => each.status)).toEqual([status]);
    expect(result.after).toHaveLength(runs);
  });

  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
  it(`at 20 random moments runs nothing twice, loses nothing and tells the truth (seed ${seed})`, async () => {
    const moments = randomMs(seed);
    for (let i = 0; i < 5; i++) {
      const few = Array.from({ length: 4 }, () => moments.next().value);
      for (const result of await Promise.all(few.map((ms) => crash('-', 60, ms)))) checkTruth(result);
    }
  });
});
