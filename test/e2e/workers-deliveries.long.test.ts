/** A worker dies while the carrier has its request: nobody here knows whether it was taken. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LEASE_MS } from '../../src/media/limits.ts';
import { CallerOfFiles } from './caller-of-files.ts';
import { eventually } from './worker-processes.ts';

const WITHIN_MS = LEASE_MS + 60_000;

describe('a file that the carrier took, when the worker that sent it could not write that down', () => {
  let caller: CallerOfFiles;
  beforeAll(async () => {
    caller = await CallerOfFiles.open();
  });
  afterAll(() => caller?.close());

  it('is asked about by another worker, and not sent again', async () => {
    caller.carrier.next({ kind: 'accept_then_silence' });
    const worker = await caller.ask();
    await eventually('the carrier has it', () => caller.carrier.messages.length === 1);

    process.kill(worker, 'SIGKILL');

    await eventually(
      'it is known to be sent',
      async () => (await caller.delivery())?.status === 'sent',
      WITHIN_MS,
    );
    expect(await caller.delivery()).toMatchObject({ attempts: 1, fence: 2 });
    expect([caller.carrier.attempts, caller.carrier.messages.length]).toEqual([1, 1]);
  });
});
