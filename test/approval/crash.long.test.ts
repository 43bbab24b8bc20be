import { describe, it } from 'vitest';
import { checkTruth, crash } from './crash.ts';

describe('a process that is killed', { timeout: 600_000 }, () => {
  const seed = Number(process.env.SEED ?? Date.now() % 1_000_000_000);
  it(`at 200 random moments runs nothing twice, loses nothing and tells the truth (seed ${seed})`, async () => {
    let state = seed >>> 0;
    const next = () => {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      return (state / 0x1_0000_0000) * 120;
    };
    for (let i = 0; i < 100; i++) {
      for (const result of await Promise.all([crash('-', 60, next()), crash('-', 60, next())]))
        checkTruth(result);
    }
  });
});
