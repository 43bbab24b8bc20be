import { defineConfig } from 'vitest/config';

/** Tests against the real nanobot; scripts/test-nanobot.sh makes what they need. */
export default defineConfig({
  test: {
    include: ['test/nanobot/**/*.nanobot.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 1,
    fileParallelism: false,
    pool: 'forks',
    execArgv: ['--disable-warning=ExperimentalWarning'],
  },
});
