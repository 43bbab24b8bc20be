/** The thread a pattern runs on: one that never ends can be ended. It sees texts, never files. */

import { parentPort, workerData } from 'node:worker_threads';
import { compilePattern, type GrepPattern, type GrepQuery, grepText } from './grep-match.ts';

const pattern = compilePattern(workerData as GrepPattern);

parentPort?.on('message', (query: GrepQuery) => {
  parentPort?.postMessage(grepText(pattern, query));
});
