import { connect } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { realtimeConfigSchema } from '../../src/config.ts';
import { ERRORS, VoiceError } from '../../src/errors.ts';
import { TWILIO_CAPABILITIES } from '../../src/leg/twilio/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import {
  ADMIT_TIMEOUT_MS,
  BODY_TIMEOUT_MS,
  MAX_ANSWERED_CALLS,
  MAX_BODY_BYTES,
} from '../../src/server/index.ts';
import { PublicAddress } from '../../src/server/public-address.ts';
import { StreamTokens } from '../../src/server/stream-tokens.ts';
import { sign } from '../../src/server/twilio/signature.ts';
import { StreamAnswers } from '../../src/server/twilio/stream-answers.ts';
import { VoiceWebhook } from '../../src/server/twilio/voice.ts';
import { FakeClock } from '../../src/testing/index.ts';
import {
  ACCOUNT_SID,
  CALL_SID,
  CALLER,
  callFields,
  closeRigs,
  DeskDouble,
  offerOf,
  openSocket,
  postSigned,
  startRig,
  until,
} from './rig.ts';

afterEach(closeRigs);

const PUBLIC = 'https://voice.example.com';
const codeOf = async (response: Response) =>
  ((await response.json()) as { error: { code: string } }).error.code;

describe('the webhook of an incoming call', () => {
  it('opens the model session and answers with a stream and its one-use token', async () => {
    const rig = await startRig({ config: { server: { publicUrl: PUBLIC } } });

    const answer = await postSigned(`${rig.url}/twilio/voice`, callFields(), {
      signedUrl: `${PUBLIC}/twilio/voice`,
    });

    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/xml; charset=utf-8');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    const twiml = await answer.text();
    const { url, token } = offerOf(twiml);
    expect(url).toBe(`wss://voice.example.com/twilio/media/${token}`);
    expect(twiml).toContain(`statusCallback="${PUBLIC}/twilio/status"`);
    expect(rig.desk.admitted).toEqual([
      expect.objectContaining({
        identity: { strength: 'claimed', id: CALLER },
        route: '+15550199',
        carrier: 'twilio',
        carrierCallId: CALL_SID,
      }),
    ]);
  });

  it('is taken by GET as well, with the fields in the address', async () => {
    const rig = await startRig();
    const url = `${rig.url}/twilio/voice?${new URLSearchParams(callFields())}`;
    const answer = await fetch(url, {
      headers: { 'x-twilio-signature': sign(url, new URLSearchParams(), '12345') },
    });
    expect(offerOf(await answer.text()).url).toMatch(/^ws:\/\/127\.0\.0\.1:/);
    expect(rig.desk.admitted).toHaveLength(1);
  });

  describe('behind a reverse proxy', () => {
    it.each([
      ['the port named', 'https://voice.example.com:443/twilio/voice'],
      ['the port left out', 'https://voice.example.com/twilio/voice'],
    ])('is checked against publicUrl, with %s', async (_, signedUrl) => {
      const rig = await startRig({ config: { server: { publicUrl: PUBLIC } } });
      const answer = await postSigned(`${rig.url}/twilio/voice`, callFields(), { signedUrl });
      expect(answer.status).toBe(200);
    });

    it('never against what the request says of itself', async () => {
      const rig = await startRig({ config: { server: { publicUrl: PUBLIC } } });
      const answer = await postSigned(`${rig.url}/twilio/voice`, callFields(), {
        signedUrl: 'https://evil.example/twilio/voice',
        headers: { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
      });
      expect([answer.status, await codeOf(answer)]).toEqual([403, 'SIGNATURE_INVALID']);
    });

    it('does not hold for the local address once there is a public one', async () => {
      const rig = await startRig({ config: { server: { publicUrl: PUBLIC } } });
      const answer = await postSigned(`${rig.url}/twilio/voice`, callFields());
      expect(answer.status).toBe(403);
    });

    it.each([
      ['strips', '/twilio/voice'],
      ['hands on', '/phone/twilio/voice'],
    ])('that %s the path of publicUrl', async (_, path) => {
      const rig = await startRig({ config: { server: { publicUrl: `${PUBLIC}/phone/` } } });
      const answer = await postSigned(`${rig.url}${path}`, callFields(), {
        signedUrl: `${PUBLIC}/phone/twilio/voice`,
      });
      expect(offerOf(await answer.text()).url).toMatch(
        /^wss:\/\/voice\.example\.com\/phone\/twilio\/media\//,
      );
    });
  });

  describe('fails closed', () => {
    it.each([
      ['wrong', { 'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' }],
      ['missing', {}],
    ])('when the signature is %s', async (_, headers: Record<string, string>) => {
      const rig = await startRig();
      const answer = await fetch(`${rig.url}/twilio/voice`, {
        method: 'POST',
        body: new URLSearchParams(callFields()),
        headers,
      });
      expect([answer.status, await codeOf(answer)]).toEqual([403, 'SIGNATURE_INVALID']);
      expect(rig.desk.admitted).toEqual([]);
    });

    it('when there is no auth token, whatever comes', async () => {
      const rig = await startRig({ config: { carriers: {} } });
      const answer = await postSigned(`${rig.url}/twilio/voice`, callFields());
      expect([answer.status, await codeOf(answer)]).toEqual([503, 'SIGNATURE_NOT_CONFIGURED']);
      expect(rig.desk.admitted).toEqual([]);
    });

    it('when it names a shared key that is not configured', async () => {
      const rig = await startRig();
      const answer = await postSigned(`${rig.url}/twilio/voice`, callFields(), {
        headers: { 'x-twilio-webhooks-signature-settings': 'key=k1,algorithm=HMAC_SHA256' },
      });
      expect([answer.status, await codeOf(answer)]).toEqual([503, 'SIGNATURE_NOT_CONFIGURED']);
    });

    it('when the call is of another account', async () => {
      const rig = await startRig({
        config: { carriers: { twilio: { authToken: '12345', accountSid: 'ACother' } } },
      });
      const answer = await postSigned(`${rig.url}/twilio/voice`, callFields());
      expect([answer.status, await codeOf(answer)]).toEqual([403, 'SIGNATURE_INVALID']);
    });

    it('rather than start at all when unsigned webhooks would be taken from others', async () => {
      const unsafe = { carriers: { twilio: { unsafeSkipSignature: true } } };
      await expect(startRig({ config: { ...unsafe, server: { publicUrl: PUBLIC } } })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      });
      await expect(startRig({ config: { ...unsafe, server: { host: '0.0.0.0' } } })).rejects.toMatchObject({
        code: 'CONFIG_INVALID',
      });
    });
  });

  it('finds the auth token in TWILIO_AUTH_TOKEN', async () => {
    const rig = await startRig({ config: { carriers: {} }, env: { TWILIO_AUTH_TOKEN: '12345' } });
    const answer = await postSigned(`${rig.url}/twilio/voice`, callFields());
    expect(answer.status).toBe(200);
  });

  it('is believed unsigned on loopback when the config says so', async () => {
    const rig = await startRig({ config: { carriers: { twilio: { unsafeSkipSignature: true } } } });
    const answer = await fetch(`${rig.url}/twilio/voice`, {
      method: 'POST',
      body: new URLSearchParams(callFields()),
    });
    expect(offerOf(await answer.text()).token).not.toBe('');
    expect(rig.server.twilio).toBe('unverified');
  });

  it('without a CallSid is an error of the request', async () => {
    const rig = await startRig();
    const { CallSid: _, ...fields } = callFields();
    const answer = await postSigned(`${rig.url}/twilio/voice`, fields);
    expect([answer.status, await codeOf(answer)]).toEqual([400, 'REQUEST_INVALID']);
  });

  describe('asked again for the same call', () => {
    it('gives the same answer while the stream is still to come', async () => {
      const rig = await startRig();
      const answers = await Promise.all(
        [1, 2, 3].map(async () => (await postSigned(`${rig.url}/twilio/voice`, callFields())).text()),
      );
      expect(new Set(answers).size).toBe(1);
      expect(rig.desk.admitted).toHaveLength(1);
    });

    it('is a replay once the stream was opened', async () => {
      const rig = await startRig();
      const answer = await postSigned(`${rig.url}/twilio/voice`, callFields());
      const ws = await openSocket(offerOf(await answer.text()).url);
      const replay = await postSigned(`${rig.url}/twilio/voice`, callFields());
      expect([replay.status, await codeOf(replay)]).toEqual([409, 'REQUEST_REPLAYED']);
      expect(rig.desk.admitted).toHaveLength(1);
      ws.terminate();
    });

    it('is a replay once the token is too old', async () => {
      const clock = new FakeClock();
      const rig = await startRig({ clock });
      await (await postSigned(`${rig.url}/twilio/voice`, callFields())).text();
      await clock.advance(30_000);
      const replay = await postSigned(`${rig.url}/twilio/voice`, callFields());
      expect(replay.status).toBe(409);
      expect(rig.desk.admitted).toHaveLength(1);
    });

    it('is remembered for a bounded number of calls', async () => {
      const clock = new FakeClock();
      const desk = new DeskDouble();
      desk.refuseWith = new VoiceError('CALL_LIMIT_REACHED', 'full');
      const config = realtimeConfigSchema.parse({});
      const tokens = new StreamTokens(clock);
      const address = new PublicAddress('http://127.0.0.1:1');
      const voice = new VoiceWebhook({
        config,
        desk,
        tokens,
        answers: new StreamAnswers({ config, tokens, address }),
        capabilities: TWILIO_CAPABILITIES,
        calls: null,
        clock,
        logger: silentLogger,
        isDraining: () => false,
      });
      const answer = (n: number) => voice.answer(new Map([['CallSid', `CA${n}`]]));
      for (let n = 0; n < MAX_ANSWERED_CALLS; n += 1) await answer(n);
      await answer(0);
      expect(desk.admitted).toHaveLength(MAX_ANSWERED_CALLS);
      await answer(MAX_ANSWERED_CALLS);
      await answer(1);
      expect(desk.admitted).toHaveLength(MAX_ANSWERED_CALLS + 1);
      await answer(0);
      expect(desk.admitted).toHaveLength(MAX_ANSWERED_CALLS + 2);
    });
  });

  describe('knows who calls as far as the carrier says', () => {
    const identify = async (fields: Record<string, string>, acceptAttestation: boolean) => {
      const rig = await startRig({ config: { identity: { acceptAttestation } } });
      await (await postSigned(`${rig.url}/twilio/voice`, callFields(fields))).text();
      return rig.desk.admitted[0]?.identity;
    };

    it.each([
      ['TN-Validation-Passed-A', true, 'attested'],
      ['TN-Validation-Passed-A', false, 'claimed'],
      ['TN-Validation-Passed-A-Diverted', true, 'claimed'],
      ['TN-Validation-Passed-A-Passthrough', true, 'claimed'],
      ['TN-Validation-Passed-B', true, 'claimed'],
      ['TN-Validation-Failed-A', true, 'claimed'],
      ['tn-validation-passed-a', true, 'claimed'],
      ['', true, 'claimed'],
    ])('%s, attestation accepted: %s, is %s', async (StirVerstat, accepted, strength) => {
      expect(await identify({ StirVerstat }, accepted)).toEqual({ strength, id: CALLER });
    });

    it.each(['anonymous', 'Anonymous', 'Restricted', '+266696687', '+7378742833', '+86282452253', '', ' '])(
      'and a withheld number (%j) is nobody',
      async (From) => {
        expect(await identify({ From, StirVerstat: 'TN-Validation-Passed-A' }, true)).toEqual({
          strength: 'none',
          id: null,
        });
      },
    );
  });

  describe('lets in whom allowFrom names', () => {
    it.each([
      [['*'], CALLER, true],
      [[CALLER], CALLER, true],
      [['+15550101'], CALLER, false],
      [[], CALLER, false],
      [[CALLER], 'anonymous', false],
      [['*'], 'anonymous', true],
    ])('%j and %s: %s', async (allowFrom, From, allowed) => {
      const rig = await startRig({ config: { allowFrom } });
      const answer = await postSigned(`${rig.url}/twilio/voice`, callFields({ From }));
      expect(answer.status).toBe(200);
      expect((await answer.text()).includes('<Connect>')).toBe(allowed);
      expect(rig.desk.admitted).toHaveLength(allowed ? 1 : 0);
    });
  });

  describe('tells the caller why nobody is there', () => {
    it.each(['CALL_LIMIT_REACHED', 'CALL_REFUSED', 'SHUTTING_DOWN', 'MODEL_UNAVAILABLE'] as const)(
      'on %s',
      async (code) => {
        const rig = await startRig();
        rig.desk.refuseWith = new VoiceError(code, 'no');
        const answer = await postSigned(`${rig.url}/twilio/voice`, callFields());
        expect(answer.status).toBe(200);
        const twiml = await answer.text();
        expect(twiml).toMatch(/^<\?xml.*<Response><Say language="en-US">.+<\/Say><Hangup\/><\/Response>$/);
        expect(twiml).toContain(ERRORS[code].spoken);
      },
    );

    it('on an error without words of its own, and gives nothing of it away', async () => {
      const rig = await startRig();
      rig.desk.refuseWith = new Error('secret detail');
      const twiml = await (await postSigned(`${rig.url}/twilio/voice`, callFields())).text();
      expect(twiml).toContain('<Say language="en-US">Sorry, something went wrong');
      expect(twiml).not.toContain('secret detail');
    });

    it('when the model session takes longer than the carrier waits', async () => {
      const clock = new FakeClock();
      const rig = await startRig({ clock });
      rig.desk.gate = new Promise(() => {});
      const answer = postSigned(`${rig.url}/twilio/voice`, callFields());
      await until('the call is being admitted', () => rig.desk.admitted.length === 1);
      await clock.advance(ADMIT_TIMEOUT_MS);
      expect(await (await answer).text()).toContain(ERRORS.MODEL_UNAVAILABLE.spoken);
      expect(ADMIT_TIMEOUT_MS).toBeLessThan(15_000);
    });
  });

  describe('bounds what it reads', () => {
    it.each([
      ['declared', (size: number) => 'x'.repeat(size)],
      [
        'streamed',
        (size: number) =>
          new ReadableStream({
            start(controller) {
              controller.enqueue(new Uint8Array(size));
              controller.close();
            },
          }),
      ],
    ])('a %s body', async (_, body) => {
      const rig = await startRig();
      const post = (size: number) =>
        fetch(`${rig.url}/twilio/voice`, {
          method: 'POST',
          body: body(size),
          duplex: 'half',
          headers: { 'x-twilio-signature': 'x', 'content-type': 'application/x-www-form-urlencoded' },
        } as RequestInit);
      expect((await post(MAX_BODY_BYTES)).status).toBe(403);
      expect((await post(MAX_BODY_BYTES + 1)).status).toBe(413);
    });

    it('and how long it reads', async () => {
      const clock = new FakeClock();
      const rig = await startRig({ clock });
      const socket = connect(Number(new URL(rig.url).port), '127.0.0.1');
      let answer = '';
      socket.on('data', (data) => {
        answer += data;
      });
      socket.write(
        'POST /twilio/voice HTTP/1.1\r\nHost: x\r\nX-Twilio-Signature: x\r\nContent-Length: 100\r\n' +
          'Content-Type: application/x-www-form-urlencoded\r\n\r\nhalf',
      );
      await until('the body is awaited', () => clock.pendingTimers === 1);
      await clock.advance(BODY_TIMEOUT_MS);
      await until('an answer came', () => answer.includes('REQUEST_TIMEOUT'));
      expect(answer).toMatch(/^HTTP\/1\.1 408 /);
      socket.destroy();
    });
  });
});

describe('the status callback', () => {
  it('is verified like every webhook', async () => {
    const rig = await startRig();
    const answer = await postSigned(`${rig.url}/twilio/status`, callFields(), { token: 'wrong' });
    expect(answer.status).toBe(403);
  });

  it('takes the token of a call that is over back', async () => {
    const rig = await startRig();
    const offer = offerOf(await (await postSigned(`${rig.url}/twilio/voice`, callFields())).text());
    const answer = await postSigned(`${rig.url}/twilio/status`, callFields({ CallStatus: 'completed' }));
    expect(answer.status).toBe(204);
    await expect(openSocket(offer.url)).rejects.toThrow(/401/);
  });

  it('does nothing for a call in progress, and takes reports about streams', async () => {
    const rig = await startRig();
    const offer = offerOf(await (await postSigned(`${rig.url}/twilio/voice`, callFields())).text());
    for (const fields of [
      callFields({ CallStatus: 'in-progress' }),
      {
        CallSid: CALL_SID,
        AccountSid: ACCOUNT_SID,
        StreamEvent: 'stream-error',
        StreamError: '31921 closed',
      },
    ]) {
      expect((await postSigned(`${rig.url}/twilio/status`, fields)).status).toBe(204);
    }
    const ws = await openSocket(offer.url);
    ws.terminate();
  });
});
