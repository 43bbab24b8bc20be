// Elsewhere: a second start bound the webhook's port again and died of it with a stack trace.

import { afterEach, describe, expect, it } from 'vitest';
import { realtimeConfigSchema } from '../../src/config.ts';
import { createVoiceServer } from '../../src/server/index.ts';
import { closeRigs, DeskDouble, startRig } from '../server/rig.ts';

afterEach(closeRigs);

describe('bug 69: a second gateway on the same port', () => {
  it('says so with a code, and the first goes on', async () => {
    const rig = await startRig();
    const second = createVoiceServer({
      config: realtimeConfigSchema.parse({ server: { port: Number(new URL(rig.url).port) } }),
      desk: new DeskDouble(),
      env: {},
    });
    await expect(second.listen()).rejects.toMatchObject({ code: 'ADDRESS_IN_USE' });
    await second.close(0);

    expect((await fetch(`${rig.url}/healthz`)).status).toBe(200);
  });
});
