import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.long.test.ts'],
    testTimeout: 1_800_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    pool: 'forks',
    execArgv: ['--disable-warning=ExperimentalWarning', '--expose-gc'],
  },
});
