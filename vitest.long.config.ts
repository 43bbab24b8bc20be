import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.long.test.ts'],
    testTimeout: 600_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
    pool: 'forks',
    execArgv: ['--disable-warning=ExperimentalWarning', '--expose-gc'],
  },
});
