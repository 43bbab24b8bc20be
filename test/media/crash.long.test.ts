import { expect, it } from 'vitest';
import { brokenPromises, crashRun, KILLS } from './crash.ts';

const RUNS = 200 / KILLS;

it('200 random kills lose nothing and send nothing twice', { timeout: 1_800_000 }, async () => {
  const first = Math.floor(Math.random() * 2 ** 30);
  console.log(`crash seeds: ${first} to ${first + RUNS - 1}`);
  for (let seed = first; seed < first + RUNS; seed += 1) {
    const isListDown = seed % 4 === 0;
    const result = await crashRun(seed, isListDown);
    expect(brokenPromises(result, isListDown), `seed ${seed}: ${result.lives.join(' | ')}`).toEqual([]);
  }
});
