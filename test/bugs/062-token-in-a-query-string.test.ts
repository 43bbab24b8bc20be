// Elsewhere: the token of a stream stood in the query string of its address, which the carrier cuts off: every call was
// refused.

import { afterEach, describe, expect, it } from 'vitest';
import { STREAM_TOKEN_TTL_MS } from '../../src/server/index.ts';
import { FakeClock } from '../../src/testing/index.ts';
import {
  CONNECTED,
  closeCode,
  closeRigs,
  openSocket,
  refusedStatus,
  ring,
  startMessage,
  startRig,
  until,
} from '../server/rig.ts';

afterEach(closeRigs);

describe('bug 62: the token of a stream', () => {
  it('stands in no query string', async () => {
    const rig = await startRig();
    const { url, token } = await ring(rig);
    expect(new URL(url).search).toBe('');
    expect(new URL(url).pathname).toContain(token);
  });

  it.each(['in the path', 'as a parameter'])('works %s, once', async (where) => {
    const rig = await startRig();
    const { url, token } = await ring(rig);
    const inPath = where === 'in the path';
    const ws = await openSocket(inPath ? url : `${rig.wsUrl}/twilio/media`);
    ws.send(CONNECTED);
    ws.send(startMessage(inPath ? {} : { token }));
    await until('the leg is attached', () => rig.desk.attached.length === 1);

    if (inPath) expect(await refusedStatus(url)).toBe(401);
    else {
      const again = await openSocket(`${rig.wsUrl}/twilio/media`);
      again.send(CONNECTED);
      again.send(startMessage({ token }));
      expect(await closeCode(again)).toBe(1008);
    }
    expect(rig.desk.attached).toHaveLength(1);
  });

  it('is worth nothing after thirty seconds', async () => {
    expect(STREAM_TOKEN_TTL_MS).toBeLessThanOrEqual(30_000);
    const clock = new FakeClock();
    const rig = await startRig({ clock });
    const { url } = await ring(rig);
    await clock.advance(STREAM_TOKEN_TTL_MS + 1);
    expect(await refusedStatus(url)).toBe(401);
  });
});
