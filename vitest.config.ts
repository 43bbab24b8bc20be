import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: ['test/web/build-pages.ts'],
    include: ['test/**/*.test.ts'],
    // Measurements of time run afterwards, alone: vitest.quiet.config.ts.
    exclude: ['test/**/*.long.test.ts', 'test/**/*.quiet.test.ts', 'test/**/*.nanobot.test.ts'],
    // Real sockets and other programs share two cores with everything else; what had to be repeated is in the report.
    retry: 1,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    pool: 'forks',
    execArgv: ['--disable-warning=ExperimentalWarning'],
  },
});
