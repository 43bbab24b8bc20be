import { describe, it } from 'vitest';
import { checkTruth, crash, randomMs } from './crash.ts';

describe('a process that is killed', { timeout: 900_000 }, () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
  it(`at 200 random moments runs nothing twice, loses nothing and tells the truth (seed ${seed})`, async () => {
    const moments = randomMs(seed);
    for (let i = 0; i < 100; i++) {
      const pair = [moments.next().value, moments.next().value];
      for (const result of await Promise.all(pair.map((ms) => crash('-', 60, ms)))) checkTruth(result);
    }
  });
});
