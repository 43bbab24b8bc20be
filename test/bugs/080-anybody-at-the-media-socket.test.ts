// Elsewhere: the media socket asked for nothing at all, so that anybody could spend the model's minutes and read out its
// instructions.

import { afterEach, describe, expect, it } from 'vitest';
import {
  CONNECTED,
  closeCode,
  closeRigs,
  openSocket,
  refusedStatus,
  ring,
  startMessage,
  startRig,
} from '../server/rig.ts';

afterEach(closeRigs);

describe('bug 80: a stranger at the media socket', () => {
  it.each([
    ['no token', {}],
    ['an empty token', { token: '' }],
    ['a made-up token', { token: 'x'.repeat(22) }],
    ['a token that is no text to compare with', { token: '\u0000'.repeat(22) }],
  ])(
    'who knows a live call and shows %s is closed with 1008 and never reaches the desk',
    async (_, parameters) => {
      const rig = await startRig();
      await ring(rig);
      const ws = await openSocket(`${rig.wsUrl}/twilio/media`);
      ws.send(CONNECTED);
      ws.send(startMessage(parameters as Record<string, string>));

      expect(await closeCode(ws)).toBe(1008);
      // The model's session is the desk's; nobody asked it for anything but the one call that rang.
      expect(rig.desk.admitted).toHaveLength(1);
      expect(rig.desk.attached).toEqual([]);
    },
  );

  it.each(['/twilio/media/nearly', `/twilio/media/${'x'.repeat(22)}`, '/media', '/'])(
    'who tries %s is turned away before the upgrade',
    async (path) => {
      const rig = await startRig();
      await ring(rig);
      expect(await refusedStatus(`${rig.wsUrl}${path}`)).toBeGreaterThanOrEqual(401);
      expect(rig.desk.attached).toEqual([]);
    },
  );
});
