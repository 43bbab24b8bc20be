/** A stream that breaks off and comes back, a call that goes to somebody else, keys that are pressed: on virtual time. */
import { afterEach, describe, expect, it } from 'vitest';
import { CONTINUE_WITHIN_MS } from '../../src/call/desk.ts';
import { call, type FakeCarrier, type FakePhoneCall, say } from '../../src/testing/index.ts';
import { heardMs, type LineOptions, speech } from '../bugs/line.ts';
import { openPhone, type Phone } from '../bugs/phone.ts';

let phone: Phone;
afterEach(() => phone.close());

const open = async (options: LineOptions & { controls?: boolean } = {}) => {
  phone = await openPhone(options);
  return phone.ring();
};

async function speaks(carrier: FakeCarrier): Promise<void> {
  await phone.clock.drive(carrier.speak(speech(900)));
  await phone.clock.advance(600);
}

/** Everything that a call must leave behind: nothing. */
async function over(twilio: FakePhoneCall, reason: string): Promise<void> {
  await phone.clock.advance(3000);
  expect(phone.ended).toMatchObject([{ reason }]);
  expect(twilio.status).toBe('completed');
  expect(twilio.errors).toEqual([]);
  expect(phone.api.violations).toEqual([]);
  expect(phone.fake.violations).toEqual([]);
  expect(phone.desk.activeCalls + phone.desk.pendingCalls).toBe(0);
  expect(phone.clock.pendingTimers).toBe(0);
  for (const stream of twilio.streams) stream.assertClean();
}

const hungUpAtTwilio = () => phone.api.requests.filter(({ form }) => form.Status === 'completed').length;

describe('a stream that breaks off', () => {
  it('comes back as another stream of the same call, and the answer goes on where it was', async () => {
    const twilio = await open({ turns: () => [say('A long answer to it.', { durationMs: 4000 })] });
    const first = twilio.streams[0]!;
    await speaks(first);
    await phone.clock.advance(1200);
    first.reset();
    const second = await phone.clock.drive(twilio.whenStream(2));
    await phone.clock.advance(5000);

    const heard = heardMs(first) + heardMs(second);
    expect(heardMs(first)).toBeGreaterThan(500);
    expect(heard).toBeGreaterThanOrEqual(3900);
    // No mark had confirmed the last of it: that much is heard twice.
    expect(heard).toBeLessThanOrEqual(4400);
    expect(twilio.verbs).toEqual(['Connect', 'Redirect', 'Connect']);
    expect(phone.fake.sessions).toHaveLength(1);

    second.hangup();
    await phone.clock.drive(twilio.ended);
    await over(twilio, 'caller_hangup');
    expect(hungUpAtTwilio()).toBe(0);
  });

  it('several times comes back as often, each time by another address', async () => {
    const twilio = await open();
    for (let n = 1; n <= 4; n += 1) {
      twilio.streams[n - 1]!.reset();
      await phone.clock.drive(twilio.whenStream(n + 1));
      await phone.clock.advance(500);
    }
    expect(phone.desk.activeCalls).toBe(1);
    twilio.stream!.hangup();
    await over(twilio, 'caller_hangup');
  });

  it('is replaced by the newest one, and what the old one still says does nothing', async () => {
    const twilio = await open({ turns: () => [say('Okay.', { durationMs: 900 })] });
    const old = twilio.streams[0]!;
    // Twilio has given it up; its close has not come through to us.
    const url = (await resumeOf(twilio)).match(/>(https:[^<]+)</)![1]!;
    const { text } = await phone.wires.post(url, { CallSid: twilio.callSid, CallStatus: 'in-progress' });
    const token = /name="token" value="([^"]+)"/.exec(text)![1]!;
    const second = await phone.wires.stream(`wss://voice.example.com/twilio/media/${token}`, {
      streamSid: 'MZ2',
      customParameters: { token },
    });
    second.start();
    await phone.clock.advance(300);
    expect(phone.desk.activeCalls).toBe(1);
    await speaks(second);
    await phone.clock.advance(2000);

    expect(heardMs(second)).toBeGreaterThanOrEqual(880);
    expect(phone.ended).toEqual([]);
    // The first one was closed, and the call was not hung up over it.
    expect(old.isClosed).toBe(true);
    expect(hungUpAtTwilio()).toBe(0);
    second.hangup();
    await phone.clock.advance(3000);
    expect(phone.ended).toMatchObject([{ reason: 'caller_hangup' }]);
    expect(phone.clock.pendingTimers).toBe(0);
  });

  it('and can not be opened again ends the call after the grace, at Twilio too', async () => {
    const twilio = await open({ config: { limits: { reconnectGraceS: 3 } } });
    // Nobody at Twilio asks us: the webhook does not get through either.
    const { post } = phone.wires;
    Object.assign(phone.wires, { post: () => new Promise(() => {}) });
    twilio.streams[0]!.reset();
    await phone.clock.advance(2800);
    expect(phone.ended).toEqual([]);
    await phone.clock.advance(1000);
    Object.assign(phone.wires, { post });

    expect(hungUpAtTwilio()).toBe(1);
    await over(twilio, 'connection_lost');
  });

  it('that Twilio can not open at all is asked for until the grace is over, and then the call is hung up', async () => {
    const twilio = await open({ controls: false, config: { limits: { reconnectGraceS: 1 } } });
    const { post } = phone.wires;
    Object.assign(phone.wires, {
      post: async (url: string, fields: Record<string, string>) => {
        // A round trip, so that the loop takes time.
        await new Promise<void>((resolve) => phone.clock.setTimeout(resolve, 200));
        return post(url, fields);
      },
    });
    phone.blocked = true;
    twilio.streams[0]!.reset();
    await phone.clock.drive(twilio.ended);

    expect(twilio.verbs.at(-1)).toBe('Hangup');
    expect(twilio.verbs.filter((verb) => verb === 'Connect').length).toBeLessThan(10);
    await phone.clock.advance(1000);
    expect(phone.ended).toMatchObject([{ reason: 'connection_lost' }]);
    expect(phone.clock.pendingTimers).toBe(0);
  });

  it('while the caller hangs up is a hang-up, as soon as the carrier says so', async () => {
    const twilio = await open();
    Object.assign(phone.wires, { post: () => new Promise(() => {}) });
    twilio.streams[0]!.reset();
    await phone.clock.advance(500);
    expect(phone.ended).toEqual([]);
    twilio.hangup();
    phone.status({ CallSid: twilio.callSid, CallStatus: 'completed' });
    await over(twilio, 'caller_hangup');
  });
});

describe('the address that is asked when a stream is over', () => {
  it('gives the same answer again while the stream is to come, and nothing after it', async () => {
    const twilio = await open();
    const url = (await resumeOf(twilio)).match(/>(https:[^<]+)</)![1]!;
    const fields = { CallSid: twilio.callSid, CallStatus: 'in-progress' };

    const [one, two] = [await phone.wires.post(url, fields), await phone.wires.post(url, fields)];
    expect(one.status).toBe(200);
    expect(two).toEqual(one);
    const token = /name="token" value="([^"]+)"/.exec(one.text)![1]!;
    const stream = await phone.wires.stream(`wss://voice.example.com/twilio/media/${token}`, {
      streamSid: 'MZ2',
      customParameters: { token },
    });
    stream.start();
    await phone.clock.advance(100);

    expect(await phone.wires.post(url, fields)).toEqual({ status: 409, text: 'REQUEST_REPLAYED' });
    expect(await phone.wires.post(`${url}x`, fields)).toEqual({ status: 409, text: 'REQUEST_REPLAYED' });
    // Of this call, for another one.
    const other = await phone.wires.post(url, { ...fields, CallSid: 'CAother' });
    expect(other).toEqual({ status: 409, text: 'REQUEST_REPLAYED' });
    twilio.hangup();
    stream.hangup();
    await phone.clock.advance(3000);
  });

  it('ends a call that is over, and one that it does not know', async () => {
    const twilio = await open();
    const url = (await resumeOf(twilio)).match(/>(https:[^<]+)</)![1]!;
    twilio.streams[0]!.hangup();
    await phone.clock.drive(twilio.ended);
    await phone.clock.advance(3000);
    const fields = { CallSid: twilio.callSid, CallStatus: 'in-progress' };

    for (const each of [url, url.replace(/resume\/[^/]+/, 'resume/unknown')])
      expect((await phone.wires.post(each, fields)).text).toContain('<Response><Hangup/></Response>');
  });

  it('lets a call of before a restart go on in its session, without a second greeting', async () => {
    phone = await openPhone({ config: { greeting: 'Hello there.' } });
    const { clock, store, desk } = phone;
    await store.beginCall({
      id: 'before',
      sessionKey: 'realtime:before',
      carrier: 'twilio',
      provider: 'openai',
      identityStrength: 'claimed',
      startedAt: clock.wallNow() - 100_000,
    });
    await store.endCall('before', clock.wallNow() - 2000, 'crashed');
    const twilio = await phone.ring();
    twilio.hangup();
    await clock.advance(3000);
    phone.ended.length = 0;

    const url = 'https://voice.example.com/twilio/resume/before/lost-with-the-process';
    const fields = { CallSid: 'CAbefore', CallStatus: 'in-progress', From: '+15550100' };
    phone.api.add({ callSid: 'CAbefore', status: 'in-progress', update: () => null, complete: () => null });
    const answer = await clock.drive(phone.wires.post(url, fields));

    expect(answer.text).toContain('<Stream');
    const row = [...store.calls.values()].at(-1)!;
    expect(row.sessionKey).toBe('realtime:before');
    expect(desk.pendingCalls).toBe(1);
    await clock.advance(200);
    const prompts = phone.fake.session.receivedOf('response.create').map((event) => JSON.stringify(event));
    expect(prompts).toHaveLength(1);
    expect(prompts[0]).not.toContain('Hello there.');
    // Once: a replay of it opens nothing.
    await clock.advance(40_000);
    expect((await phone.wires.post(url, fields)).text).toContain('<Response><Hangup/></Response>');
  });

  it('asks the carrier whether such a call still is one', async () => {
    phone = await openPhone();
    const { clock, store, desk } = phone;
    await store.beginCall({
      id: 'before',
      sessionKey: 'realtime:before',
      carrier: 'twilio',
      provider: 'openai',
      identityStrength: 'claimed',
      startedAt: clock.wallNow() - 100_000,
    });
    await store.endCall('before', clock.wallNow() - 2000, 'crashed');
    const url = 'https://voice.example.com/twilio/resume/before/lost-with-the-process';
    const fields = { CallSid: 'CAbefore', CallStatus: 'in-progress', From: '+15550100' };

    // A replay of a webhook: at Twilio there is no such call any more.
    expect((await clock.drive(phone.wires.post(url, fields))).text).toContain('<Hangup/>');
    expect(desk.pendingCalls).toBe(0);
    expect(phone.api.requests).toMatchObject([{ method: 'GET', callSid: 'CAbefore', status: 404 }]);
    // A carrier that can't be asked does not cost the caller the call.
    phone.api.next({ kind: 'server_error' }, { kind: 'server_error' }, { kind: 'server_error' });
    expect((await clock.drive(phone.wires.post(url, fields))).text).toContain('<Stream');
    await clock.advance(40_000);
  });

  it.each([
    ['it ended in good order', 'agent_hangup', 2000],
    ['the restart is long past', 'crashed', CONTINUE_WITHIN_MS + 1],
  ] as const)('but not when %s', async (_, reason, ago) => {
    phone = await openPhone();
    const { clock, store } = phone;
    await store.beginCall({
      id: 'before',
      sessionKey: 'realtime:before',
      carrier: 'twilio',
      provider: 'openai',
      identityStrength: 'claimed',
      startedAt: clock.wallNow() - 100_000,
    });
    await store.endCall('before', clock.wallNow() - ago, reason);

    const url = 'https://voice.example.com/twilio/resume/before/lost-with-the-process';
    const answer = await phone.wires.post(url, { CallSid: 'CAbefore', From: '+15550100' });

    expect(answer.text).toContain('<Response><Hangup/></Response>');
    expect(phone.desk.pendingCalls).toBe(0);
  });
});

describe('the end of a call', () => {
  it('is the end of it at Twilio, once the goodbye was heard', async () => {
    const twilio = await open({
      turns: ({ toolOutputs }) =>
        toolOutputs.length > 0 ? [] : [say('Goodbye then.', { durationMs: 1500 }), call('end_call')],
    });
    const stream = twilio.streams[0]!;
    await speaks(stream);
    await phone.clock.drive(twilio.ended);

    expect(heardMs(stream)).toBeGreaterThanOrEqual(1480);
    expect(hungUpAtTwilio()).toBe(1);
    await over(twilio, 'agent_hangup');
  });

  it('without the account’s credentials is told when Twilio asks what is next', async () => {
    const twilio = await open({ controls: false, turns: () => [say('Bye.'), call('end_call')] });
    await speaks(twilio.streams[0]!);
    await phone.clock.drive(twilio.ended);

    expect(twilio.verbs).toEqual(['Connect', 'Redirect', 'Hangup']);
    expect(phone.api.requests).toEqual([]);
    await over(twilio, 'agent_hangup');
  });
});

describe('a transfer', () => {
  const transfers = [{ name: 'sales', target: '+15550123' }];
  const toSales: LineOptions['turns'] = ({ toolOutputs }) =>
    toolOutputs.length > 0
      ? [say('It did not work.', { durationMs: 800 })]
      : [say('I connect you to sales.', { durationMs: 1500 }), call('transfer_call', { to: 'sales' })];

  it('is made at Twilio once the caller heard it, and the call is not hung up over it', async () => {
    const twilio = await open({ config: { transfers }, turns: toSales });
    const stream = twilio.streams[0]!;
    await speaks(stream);
    await phone.clock.advance(500);
    expect(twilio.dialled).toEqual([]);
    await phone.clock.drive(twilio.ended);

    expect(heardMs(stream)).toBeGreaterThanOrEqual(1480);
    expect(twilio.dialled).toEqual(['+15550123']);
    expect(twilio.verbs).toEqual(['Connect', 'Dial', 'Hangup']);
    expect(hungUpAtTwilio()).toBe(0);
    await over(twilio, 'transferred');
    expect(phone.logs.join()).not.toContain('5550123');
  });

  it('to a SIP address goes there', async () => {
    const target = 'sip:front@desk.example';
    const twilio = await open({ config: { transfers: [{ name: 'sales', target }] }, turns: toSales });
    await speaks(twilio.streams[0]!);
    await phone.clock.drive(twilio.ended);

    expect(twilio.dialled).toEqual([target]);
  });

  it.each(['busy', 'no-answer', 'failed'] as const)(
    'to somebody whose line is %s ends with a word to the caller',
    async (dialOutcome) => {
      phone = await openPhone({ config: { transfers }, turns: toSales });
      const twilio = await phone.ring({ dialOutcome });
      await speaks(twilio.streams[0]!);
      await phone.clock.drive(twilio.ended);

      expect(twilio.said).toEqual([expect.stringContaining('nobody answered')]);
      await over(twilio, 'transferred');
    },
  );

  it('that Twilio refuses leaves the caller with the agent, who says so', async () => {
    const twilio = await open({ config: { transfers }, turns: toSales });
    phone.api.next({ kind: 'reject', status: 400, code: 13223 });
    const stream = twilio.streams[0]!;
    await speaks(stream);
    await phone.clock.advance(4000);

    expect(heardMs(stream)).toBeGreaterThanOrEqual(2200);
    expect(phone.ended).toEqual([]);
    const outputs = JSON.stringify(phone.fake.session.receivedOf('conversation.item.create'));
    expect(outputs).toContain('did not work');
    expect(outputs + phone.logs.join()).not.toContain('secret words');
    twilio.hangup();
    await over(twilio, 'caller_hangup');
  });

  it.each(['911', '+1911', '112', 'tel:+15550123', '+15550123;ext=1', 'sip:a@b.example"><Say>'])(
    'never goes to %s, whatever the config says',
    async (target) => {
      const twilio = await open({ config: { transfers: [{ name: 'sales', target }] }, turns: toSales });
      await speaks(twilio.streams[0]!);
      await phone.clock.advance(4000);

      expect(twilio.dialled).toEqual([]);
      expect(phone.api.requests).toEqual([]);
      expect(phone.ended).toEqual([]);
      twilio.hangup();
      await over(twilio, 'caller_hangup');
    },
  );
});

describe('keys that the agent presses', () => {
  const presses: LineOptions['turns'] = ({ toolOutputs }) =>
    toolOutputs.length > 0
      ? [say('Done, it is through.', { durationMs: 1000 })]
      : [say('I press it.', { durationMs: 600 }), call('send_dtmf', { digits: '12w34#' })];

  it('are played between two streams of the same call, and the conversation goes on', async () => {
    const twilio = await open({ turns: presses });
    const first = twilio.streams[0]!;
    await speaks(first);
    const second = await phone.clock.drive(twilio.whenStream(2));
    await phone.clock.advance(2500);

    expect(twilio.keys).toEqual(['12w34#']);
    expect(twilio.verbs).toEqual(['Connect', 'Play', 'Redirect', 'Connect']);
    expect(heardMs(first)).toBeGreaterThanOrEqual(580);
    // Said while the line was away, and heard once it was back.
    expect(heardMs(second)).toBeGreaterThanOrEqual(980);
    expect(phone.ended).toEqual([]);
    expect(phone.logs.join()).not.toContain('12w34');
    second.hangup();
    await over(twilio, 'caller_hangup');
  });

  it('that Twilio does not take are an error for the model, and the line stays', async () => {
    const twilio = await open({ turns: presses });
    phone.api.next({ kind: 'server_error' });
    await speaks(twilio.streams[0]!);
    await phone.clock.advance(3000);

    expect(twilio.keys).toEqual([]);
    expect(twilio.streams).toHaveLength(1);
    expect(JSON.stringify(phone.fake.session.receivedOf('conversation.item.create'))).toContain(
      'could not be sent',
    );
    twilio.hangup();
    await over(twilio, 'caller_hangup');
  });

  it('and transfers are not offered without the account’s credentials', async () => {
    const twilio = await open({
      controls: false,
      config: { transfers: [{ name: 'sales', target: '+15550123' }] },
    });
    const update = JSON.stringify(phone.fake.session.receivedOf('session.update'));

    expect(update).not.toContain('send_dtmf');
    expect(update).not.toContain('transfer_call');
    twilio.hangup();
    await over(twilio, 'caller_hangup');
  });
});

/** The `<Redirect>` behind the newest stream of a call. */
async function resumeOf(twilio: FakePhoneCall): Promise<string> {
  return /<Redirect.*<\/Redirect>/.exec(twilio.document)![0];
}
