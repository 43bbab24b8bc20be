import { expect, it } from 'vitest';
import { brokenPromises, crashRun, KILLS } from './crash.ts';

const RUNS = 200 / KILLS;
/** Runs side by side; they mostly wait for a process to start. */
const LANES = 3;

it('200 random kills lose nothing and send nothing twice', { timeout: 3_600_000 }, async () => {
  const first = process.env.CRASH_SEED ? Number(process.env.CRASH_SEED) : Math.floor(Math.random() * 2 ** 30);
  console.log(`crash seeds: ${first} to ${first + RUNS - 1}`);
  let next = first;
  let done = 0;
  const lane = async () => {
    while (next < first + RUNS) {
      const seed = next++;
      const isListDown = seed % 4 === 0;
      const result = await crashRun(seed, isListDown);
      expect(brokenPromises(result, isListDown), `seed ${seed}: ${result.lives.join(' | ')}`).toEqual([]);
      if (++done % 20 === 0) console.log(`${done * KILLS} kills`);
    }
  };
  await Promise.all(Array.from({ length: LANES }, lane));
  expect(done).toBe(RUNS);
});
