// Elsewhere: the check of a webhook's signature was off without a word: because a package was missing, or a flag was set.

import { afterEach, describe, expect, it } from 'vitest';
import { type RealtimeConfigInput, realtimeConfigSchema } from '../../src/config.ts';
import { createVoiceServer } from '../../src/server/index.ts';
import { callFields, closeRigs, DeskDouble, postSigned, startRig } from '../server/rig.ts';

afterEach(closeRigs);

const unsafe = (server: NonNullable<RealtimeConfigInput['server']>) => () =>
  createVoiceServer({
    config: realtimeConfigSchema.parse({
      server: { port: 0, ...server },
      carriers: { twilio: { unsafeSkipSignature: true } },
    }),
    desk: new DeskDouble(),
    env: {},
  });

describe('bug 82: a webhook that nobody can check', () => {
  it.each(['/twilio/voice', '/twilio/status'])(
    '(%s) is refused with 503 while there is no key, signed or not',
    async (path) => {
      const rig = await startRig({ config: { carriers: {} } });
      const plain = await fetch(`${rig.url}${path}`, {
        method: 'POST',
        body: new URLSearchParams(callFields()),
      });
      const signed = await postSigned(`${rig.url}${path}`, callFields(), { token: '' });

      expect([plain.status, signed.status]).toEqual([503, 503]);
      expect(rig.desk.admitted).toEqual([]);
    },
  );

  it.each([
    ['without a signature', {}],
    ['with an empty one', { 'x-twilio-signature': '' }],
    ['with a made-up one', { 'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }],
  ])('%s is refused with 403', async (_, headers) => {
    const rig = await startRig();
    const body = new URLSearchParams(callFields());
    const answer = await fetch(`${rig.url}/twilio/voice`, { method: 'POST', body, headers });
    expect(answer.status).toBe(403);
    expect(rig.desk.admitted).toEqual([]);
  });

  it.each([
    ['a public address is set', { publicUrl: 'https://voice.example.com' }],
    ['it listens on every address', { host: '0.0.0.0' }],
    ['it listens on IPv6', { host: '::' }],
    ['it listens on the network', { host: '192.0.2.1' }],
  ])('can not be let pass by the flag when %s', (_, server) => {
    expect(unsafe(server)).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('can be let pass by the flag on this machine only', () => {
    expect(unsafe({ host: '127.0.0.1' })).not.toThrow();
  });
});
