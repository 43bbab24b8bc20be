// Elsewhere: replies that were made right after a restart were lost for channels that took their time to come up, and
// nobody saw that they were.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { MAX_DELIVERY_ATTEMPTS } from '../../src/media/limits.ts';
import { openStore } from '../../src/store/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import { MediaRig } from '../media/rig.ts';

describe('bug 89: a reply for a channel that is not up yet', () => {
  const clock = new FakeClock();

  async function open(folder: string, publish: () => Promise<void>): Promise<MediaRig> {
    const store = await openStore({ engine: 'sqlite', file: join(folder, 'a.db') });
    return MediaRig.open({
      store,
      clock,
      directory: folder,
      config: {
        tools: { authorization: [{ tool: 'send_test_image' }] },
        media: { chats: [{ person: 'ada', channel: 'telegram', chatId: '7' }] },
      },
      media: { publish },
    });
  }
  const down = () => Promise.reject(new Error('not connected yet'));

  it('made before the restart goes out after it, as soon as the channel takes it, once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bug-89-'));
    const first = await open(folder, down);
    const callId = await first.call({ strength: 'authenticated', id: 'ada' });
    await first.send(callId);
    await first.close();

    let published = 0;
    const upAt = clock.wallNow() + 5000;
    const second = await open(folder, () => {
      if (clock.wallNow() < upAt) return down();
      published += 1;
      return Promise.resolve();
    });
    await second.media.start();
    for (let n = 0; n < 10; n += 1) await second.deliver(2000);

    expect(published).toBe(1);
    expect(await second.rows(callId)).toMatchObject([{ status: 'sent', deliveredBy: 'channel' }]);
    await second.close();
  });

  it('that never comes up is a failure one can see: the delivery says why', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bug-89-'));
    const rig = await open(folder, down);
    const callId = await rig.call({ strength: 'authenticated', id: 'ada' });
    await rig.send(callId);
    rig.live.clear();
    for (let n = 0; n < 2 ** MAX_DELIVERY_ATTEMPTS; n += 1) await rig.deliver(2000);

    expect(await rig.rows(callId)).toMatchObject([{ status: 'dead_letter', lastError: 'call_ended' }]);
    const audit = await rig.store.listMediaAudit({ callId });
    expect(audit.filter(({ type }) => type === 'delivery.retry_scheduled').length).toBeGreaterThan(3);
    expect(audit.at(-1)).toMatchObject({ type: 'delivery.dead_lettered' });
    await rig.close();
  });
});
