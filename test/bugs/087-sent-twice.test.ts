// Elsewhere: a picture was sent twice, because the answer to the first attempt was lost and two kinds of retry each tried
// again, the second with another caption.

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LEASE_MS, SEND_TIMEOUT_MS } from '../../src/media/limits.ts';
import { openStore } from '../../src/store/index.ts';
import { FakeClock, FakeMessaging } from '../../src/testing/index.ts';
import { MediaRig, NUMBER } from '../media/rig.ts';

describe('bug 87: an attempt whose end nobody saw', () => {
  let carrier: FakeMessaging;
  let clock: FakeClock;

  beforeEach(async () => {
    clock = new FakeClock();
    carrier = await FakeMessaging.listen({ now: () => clock.wallNow() });
  });
  afterEach(() => carrier.close());

  async function open(folder: string): Promise<MediaRig> {
    const { accountSid, authToken, baseUrl } = carrier;
    const store = await openStore({ engine: 'sqlite', file: join(folder, 'a.db') });
    return MediaRig.open({
      store,
      clock,
      directory: folder,
      config: {
        tools: { authorization: [{ tool: 'send_test_image' }] },
        media: {
          consent: [NUMBER],
          messaging: { accountSid, authToken, baseUrl, from: '+15550100999', mmsPrefixes: ['+44'] },
        },
      },
      media: { publicUrl: 'http://voice.example' },
    });
  }

  it.each(['accept_then_silence', 'accept_then_reset'] as const)(
    'is asked about, and not made again: %s, then a restart',
    async (kind) => {
      const folder = mkdtempSync(join(tmpdir(), 'bug-87-'));
      carrier.next({ kind });
      const first = await open(folder);
      const callId = await first.call({ strength: 'attested', id: NUMBER });
      await first.send(callId);
      first.media.poke();
      await clock.advance(SEND_TIMEOUT_MS + 1000);
      await first.close();

      const second = await open(folder);
      await second.media.start();
      for (let n = 0; n < 4; n += 1) await second.deliver(LEASE_MS);

      expect(await second.rows(callId)).toMatchObject([{ status: 'sent', deliveredBy: 'sms', attempts: 1 }]);
      expect(carrier.attempts).toBe(1);
      expect(carrier.messages).toHaveLength(1);
      await second.close();
    },
  );
});
