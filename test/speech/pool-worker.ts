/** A worker for the pool's tests: echoes, fails, dies or hangs as it is told. */

import { parentPort } from 'node:worker_threads';

let answered = 0;

parentPort?.on('message', ({ id, request }: { id: number; request: string }) => {
  if (request === 'die') process.exit(3);
  if (request === 'throw') throw new Error('thrown in the worker');
  if (request === 'hang') for (;;);
  answered++;
  parentPort?.postMessage(
    request === 'fail'
      ? { id, error: 'told to fail', code: 'PHRASE_INVALID' }
      : { id, response: `${request} ${answered}` },
  );
});
