/** Calls changed over Twilio's REST API, against a strict double of it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realClock } from '../../src/clock.ts';
import { realtimeConfigSchema } from '../../src/config.ts';
import { CALL_RETRY_MS, TwilioCalls } from '../../src/server/twilio/calls.ts';
import { twilioRest } from '../../src/server/twilio/settings.ts';
import { dial, playDigits } from '../../src/server/twilio/twiml.ts';
import { FakeCallControl, FakeClock } from '../../src/testing/index.ts';
import { TwilioRest } from '../../src/twilio-rest.ts';

const CALL = 'CA00000000000000000000000000000001';

class CallDouble {
  readonly callSid = CALL;
  status: 'in-progress' | 'completed' = 'in-progress';
  readonly updates: string[] = [];
  completions = 0;
  update(twiml: string): 21220 | null {
    if (this.status === 'completed') return 21220;
    this.updates.push(twiml);
    return null;
  }
  complete(): 21220 | null {
    if (this.status === 'completed') return 21220;
    this.completions += 1;
    this.status = 'completed';
    return null;
  }
}

let api: FakeCallControl;
let rest: TwilioRest;
let calls: TwilioCalls;
let clock: FakeClock;
let call: CallDouble;

beforeEach(async () => {
  api = await FakeCallControl.listen();
  clock = new FakeClock();
  call = new CallDouble();
  api.add(call);
  rest = new TwilioRest({
    accountSid: api.accountSid,
    user: api.accountSid,
    secret: api.secret,
    baseUrl: api.baseUrl,
  });
  calls = new TwilioCalls(rest, clock);
});

afterEach(async () => {
  await rest.close();
  await api.close();
});

describe('a hang-up', () => {
  it('ends the call, with one request', async () => {
    await calls.hangUp(CALL);

    expect(call.completions).toBe(1);
    expect(api.requests).toEqual([
      { method: 'POST', callSid: CALL, form: { Status: 'completed' }, status: 200 },
    ]);
    expect(api.violations).toEqual([]);
  });

  it.each([
    ['unknown to Twilio (404)', () => 'CAunknown'],
    [
      'over already (21220)',
      () => {
        call.status = 'completed';
        return CALL;
      },
    ],
  ])('of a call that is %s is a success, and is not tried again', async (_, sid) => {
    await calls.hangUp(sid());

    expect(api.requests).toHaveLength(1);
  });

  it.each([409, 410, 422])('that Twilio answers with %i is a success', async (status) => {
    api.next({ kind: 'reject', status, code: 20001 });

    await calls.hangUp(CALL);

    expect(api.requests).toHaveLength(1);
  });

  it('from two sides at once is one request', async () => {
    await Promise.all([calls.hangUp(CALL), calls.hangUp(CALL)]);

    expect(api.requests).toHaveLength(1);
  });

  it('is tried again when Twilio fails or the connection breaks, because twice is once', async () => {
    api.next({ kind: 'server_error' }, { kind: 'reset' });
    const began = clock.now();

    await clock.drive(calls.hangUp(CALL));

    expect(call.completions).toBe(1);
    expect(api.requests.map(({ status }) => status)).toEqual([500, 0, 200]);
    expect(clock.now() - began).toBe(CALL_RETRY_MS[0]! + CALL_RETRY_MS[1]!);
  });

  it('is given up after three failures, in words without Twilio’s own', async () => {
    api.next({ kind: 'server_error' }, { kind: 'rate_limit' }, { kind: 'server_error' });

    const error = await clock.drive(calls.hangUp(CALL).catch((caught: unknown) => caught));

    expect(error).toMatchObject({ code: 'CARRIER_FAILED', retryable: true });
    expect(String(error)).toContain('20500');
    expect(String(error)).not.toContain('secret words');
    expect(api.requests).toHaveLength(3);
  });

  it('with the wrong token is refused at once', async () => {
    const wrong = new TwilioRest({
      accountSid: api.accountSid,
      user: api.accountSid,
      secret: 'guessed',
      baseUrl: api.baseUrl,
    });

    await expect(new TwilioCalls(wrong, clock).hangUp(CALL)).rejects.toMatchObject({
      code: 'CARRIER_REFUSED',
    });

    expect(api.violations).toEqual(['401/20003: wrong credentials']);
    await wrong.close();
  });
});

describe('other instructions for a call', () => {
  it('reach it once', async () => {
    const twiml = dial('+15550123', 'https://voice.example.com/twilio/after-transfer');

    await calls.update(CALL, twiml);

    expect(call.updates).toEqual([twiml]);
    expect(twiml).toContain('<Number>+15550123</Number>');
    expect(api.violations).toEqual([]);
  });

  it('are sent again when they can not have arrived, and not when they may have', async () => {
    api.next({ kind: 'rate_limit' });
    await clock.drive(calls.update(CALL, '<Response><Hangup/></Response>'));
    expect(call.updates).toHaveLength(1);

    for (const kind of ['server_error', 'reset'] as const) {
      api.next({ kind });
      const before = api.requests.length;
      await expect(calls.update(CALL, '<Response/>')).rejects.toMatchObject({ code: 'CARRIER_FAILED' });
      expect(api.requests).toHaveLength(before + 1);
    }
    expect(call.updates).toHaveLength(1);
  });

  it('to a call that is over are an error, unlike its hang-up', async () => {
    call.status = 'completed';

    await expect(calls.update(CALL, '<Response/>')).rejects.toMatchObject({
      code: 'CARRIER_REFUSED',
      message: expect.stringContaining('21220') as string,
    });
  });

  it('that nobody confirms are given up after the deadline', async () => {
    api.next({ kind: 'done_then_silence' });
    const real = new TwilioCalls(rest, {
      ...realClock,
      setTimeout: (run, ms) => realClock.setTimeout(run, ms / 50),
    });

    await expect(real.update(CALL, '<Response/>')).rejects.toMatchObject({ code: 'CARRIER_FAILED' });

    expect(call.updates).toEqual(['<Response/>']);
  });

  it('name only what Twilio knows: half seconds, digits, and escaped addresses', () => {
    expect(playDigits('1W2', 'https://a.example/r?x=1&y="2"')).toContain('<Play digits="1ww2"/>');
    expect(playDigits('1', 'https://a.example/r?x=1&y="2"')).toContain('x=1&amp;y=&quot;2&quot;');
    expect(dial('sip:front@desk.example', 'https://a.example')).toContain(
      '<Sip>sip:front@desk.example</Sip>',
    );
  });
});

describe('whether a call lives', () => {
  it('is asked of the carrier', async () => {
    expect(await calls.isLive(CALL)).toBe(true);
    expect(await calls.isLive('CAunknown')).toBe(false);
    call.status = 'completed';
    expect(await calls.isLive(CALL)).toBe(false);
  });
});

describe('the double', () => {
  const post = (path: string, init: RequestInit) =>
    fetch(`${api.baseUrl}/2010-04-01/Accounts/${path}`, {
      method: 'POST',
      ...init,
      headers: {
        authorization: `Basic ${Buffer.from(`${api.accountSid}:${api.secret}`).toString('base64')}`,
        ...init.headers,
      },
    }).then(({ status }) => status);

  it.each([
    ['another account', 'ACother', new URLSearchParams({ Status: 'completed' }), 404],
    ['an unknown parameter', '', new URLSearchParams({ Status: 'completed', Foo: '1' }), 400],
    ['both ways at once', '', new URLSearchParams({ Status: 'completed', Twiml: '<Response/>' }), 400],
    ['a status that there is not', '', new URLSearchParams({ Status: 'gone' }), 400],
    ['TwiML that is not well-formed', '', new URLSearchParams({ Twiml: '<Response><Say>' }), 400],
    ['a verb that there is not', '', new URLSearchParams({ Twiml: '<Response><Sing/></Response>' }), 400],
    [
      'a relative address',
      '',
      new URLSearchParams({ Twiml: '<Response><Redirect>/x</Redirect></Response>' }),
      400,
    ],
  ])('refuses %s', async (_, account, body, status) => {
    expect(await post(`${account || api.accountSid}/Calls/${CALL}.json`, { body })).toBe(status);
    expect(api.violations).toHaveLength(1);
  });

  it('refuses a JSON body', async () => {
    const headers = { 'content-type': 'application/json' };
    expect(await post(`${api.accountSid}/Calls/${CALL}.json`, { body: '{}', headers })).toBe(415);
  });
});

describe('the credentials', () => {
  const config = (twilio: object) => realtimeConfigSchema.parse({ carriers: { twilio } });

  it.each([
    ['nothing', {}, {}, false],
    ['the auth token alone', { authToken: 't' }, {}, false],
    ['account and auth token', { accountSid: 'AC1', authToken: 't' }, {}, true],
    ['account and API key', { accountSid: 'AC1', apiKey: { sid: 'SK1', secret: 's' } }, {}, true],
    ['the environment', {}, { TWILIO_ACCOUNT_SID: 'AC1', TWILIO_AUTH_TOKEN: 't' }, true],
    [
      'a key of the environment',
      { accountSid: 'AC1' },
      { TWILIO_API_KEY: 'SK1', TWILIO_API_SECRET: 's' },
      true,
    ],
    ['half a key', { accountSid: 'AC1' }, { TWILIO_API_KEY: 'SK1' }, false],
  ])('%s', async (_, twilio, env, enough) => {
    const made = twilioRest(config(twilio), env);
    expect(made !== null).toBe(enough);
    await made?.close();
  });

  it('of an API key are what is sent', async () => {
    const keyed = await FakeCallControl.listen({ user: 'SK1', secret: 'key-secret' });
    keyed.add(call);
    const apiKey = { sid: 'SK1', secret: 'key-secret' };
    const twilio = { accountSid: keyed.accountSid, authToken: 'other', apiKey, baseUrl: keyed.baseUrl };
    const made = twilioRest(config(twilio), {});

    await new TwilioCalls(made!, clock).hangUp(CALL);

    expect(call.completions).toBe(1);
    await made!.close();
    await keyed.close();
  });
});
