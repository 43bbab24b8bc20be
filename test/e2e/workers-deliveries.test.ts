/** What is on its way to a caller outlives the worker that had the call: the others take it up from the store. */

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CallerOfFiles, PLAN } from './caller-of-files.ts';
import { eventually } from './worker-processes.ts';

describe('a file that the carrier would not take just now', { timeout: 120_000 }, () => {
  let caller: CallerOfFiles;
  beforeAll(async () => {
    caller = await CallerOfFiles.open();
  }, 120_000);
  afterAll(() => caller?.close());

  it('reaches the caller, once, after the worker that had the call is gone', async () => {
    caller.carrier.next({ kind: 'rate_limit', retryAfterS: 3 });
    const worker = await caller.ask();
    await eventually(
      'it is to be tried again',
      async () => (await caller.delivery())?.status === 'retryable',
    );
    const before = await caller.delivery();

    process.kill(worker, 'SIGKILL');

    await eventually('it was sent', async () => (await caller.delivery())?.status === 'sent');
    expect(before).toMatchObject({ attempts: 1 });
    expect(await caller.delivery()).toMatchObject({ deliveryId: before?.deliveryId, attempts: 2 });
    expect([caller.carrier.attempts, caller.carrier.messages.length]).toEqual([2, 1]);
    // The bytes came from the worker that is gone.
    expect(await caller.opened(caller.carrier.messages[0]?.body ?? '')).toBe(PLAN);
  });
});
