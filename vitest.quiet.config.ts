import { defineConfig } from 'vitest/config';

/** Tests that measure time: one at a time, with nothing beside them. */
export default defineConfig({
  test: {
    globalSetup: ['test/web/build-pages.ts'],
    include: ['test/**/*.quiet.test.ts'],
    testTimeout: 60_000,
    // What is measured is measured again where the machine itself stood still; the report says how often.
    retry: 2,
    maxWorkers: 1,
    fileParallelism: false,
    pool: 'forks',
    execArgv: ['--disable-warning=ExperimentalWarning'],
  },
});
