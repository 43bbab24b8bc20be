/** The caller's side: legs that break off, come back and replace each other; keys; transfers. */
import { beforeAll, describe, expect, it } from 'vitest';
import { loadAudio, PCM16_16K } from '../../src/audio/index.ts';
import { CallDesk, CLAIM_TIMEOUT_MS } from '../../src/call/desk.ts';
import { MAX_DIGIT_CONSUMERS } from '../../src/call/dtmf.ts';
import { loadPrompts } from '../../src/call/prompts.ts';
import { Quiet } from '../../src/call/quiet.ts';
import { defaultToolPolicy } from '../../src/call/tool-policy.ts';
import { realtimeConfigSchema } from '../../src/config.ts';
import { silentLogger } from '../../src/observe/index.ts';
import {
  LEG_CAPABILITIES,
  ManualClock,
  MemoryStore,
  settle,
  startCall,
  TestLeg,
  TestModels,
  testSynthesiser,
} from './harness.ts';

beforeAll(() => loadAudio());

const returning = { leg: { reconnects: true } } as const;

describe('a leg that breaks off', () => {
  it('may come back within the grace, and what was not heard is said again', async () => {
    const test = startCall(returning);
    const model = test.models.current;
    model.respond();
    model.speak(4000);
    model.endItem();
    model.done();
    await test.advance(1500);

    test.leg.close('connection_lost');
    await test.advance(1000);
    expect(test.ended).toBeNull();
    test.newLeg();
    await test.advance(4500);

    const [first, second] = test.legs.map((leg) => leg.heardMs('r1_i'));
    expect(first).toBeGreaterThan(1400);
    // Nothing is missing, and no more than what no mark had confirmed is heard twice.
    expect(first! + second!).toBeGreaterThanOrEqual(4000);
    expect(first! + second!).toBeLessThanOrEqual(4220);
    expect(test.store.turns.get('c1:0')!.assistantText!.trim().split(/\s+/)).toHaveLength(14);
    expect(test.progress.filter((each) => each.type === 'line')).toEqual([
      { type: 'line', state: 'lost' },
      { type: 'line', state: 'back' },
    ]);
    expect(test.violations).toEqual([]);
  });

  it('and does not come back ends the call, with its reason', async () => {
    const test = startCall({ ...returning, config: { limits: { reconnectGraceS: 3 } } });
    test.leg.close('connection_lost');
    await test.advance(2800);
    expect(test.ended).toBeNull();

    await test.advance(400);

    expect(test.ended).toBe('connection_lost');
    expect(test.clock.timerCount).toBe(0);
  });

  it('ends the call at once where it can not come back, and so does a hang-up', async () => {
    const broken = startCall();
    broken.leg.close('connection_lost');
    const hungUp = startCall(returning);
    hungUp.leg.close('caller_hangup');
    await settle();

    expect(broken.ended).toBe('connection_lost');
    expect(hungUp.ended).toBe('caller_hangup');
  });

  it('keeps what the model says meanwhile for the caller who comes back', async () => {
    const test = startCall(returning);
    const model = test.models.current;
    model.respond();
    test.leg.close('connection_lost');
    model.speak(1000);
    model.endItem();
    model.done();
    await test.advance(500);

    test.newLeg();
    await test.advance(1300);

    expect(test.leg.heardMs('r1_i')).toBe(1000);
  });

  it('just when an item had been sent to its end does not hold up what comes after it', async () => {
    const test = startCall(returning);
    const model = test.models.current;
    model.respond();
    model.speak(400, 'first');
    await test.advance(340);
    model.endItem('first');
    test.leg.close('connection_lost');
    await test.advance(200);
    test.newLeg();
    model.speak(600, 'second');
    model.endItem('second');

    await test.advance(1200);

    expect(test.heardMs('first')).toBeGreaterThanOrEqual(400);
    expect(test.heardMs('second')).toBe(600);
  });

  it('in the middle of the caller’s words leaves nobody with the floor', async () => {
    const test = startCall(returning);
    test.models.current.callerSpeaks();
    test.leg.close('connection_lost');
    await test.advance(300);
    test.newLeg();
    void test.call.speakVerbatim('Welcome back.');

    await test.advance(800);

    expect(test.leg.heardMs('verbatim_1')).toBeGreaterThanOrEqual(400);
  });
});

describe('a second leg of the same call', () => {
  it('takes the place of the first, which is closed, and whose late events do nothing', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.speak(3000);
    model.endItem();
    model.done();
    await test.advance(1000);
    const old = test.leg;

    test.newLeg();
    expect(old.isClosed).toBe(true);
    expect(old.listenerCount()).toBe(0);
    old.emit('closed', 'caller_hangup');
    old.emit('dtmf', '5');
    await test.advance(2500);

    expect(test.ended).toBeNull();
    expect(model.context).toEqual([]);
    expect(test.heardMs('r1_i')).toBeGreaterThanOrEqual(3000);
  });

  it('is refused when the call is over, and nothing of it is held', async () => {
    const test = startCall();
    test.leg.close('caller_hangup');
    await settle();
    const late = new TestLeg(test.clock, []);

    expect(() => test.call.attach(late)).toThrow(/over/);

    expect(late.listenerCount()).toBe(0);
    expect(test.clock.timerCount).toBe(0);
  });

  it('of another kind is refused, and the call goes on with the first', async () => {
    const test = startCall();
    const other = new TestLeg(test.clock, [], { ...LEG_CAPABILITIES, output: PCM16_16K });

    expect(() => test.call.attach(other)).toThrow(/another kind/);
    await test.advance(100);

    expect(test.ended).toBeNull();
    expect(test.leg.isClosed).toBe(false);
  });

  it('leaves the listeners of others on the first alone', async () => {
    const test = startCall();
    let heard: string | null = null;
    test.leg.on('closed', (reason) => {
      heard = reason;
    });

    test.newLeg();

    expect(heard).toBe('local_hangup');
  });
});

describe('the desk', () => {
  function openDesk() {
    const clock = new ManualClock();
    const desk = new CallDesk({
      config: realtimeConfigSchema.parse({ greeting: '' }),
      clock,
      logger: silentLogger,
      models: new TestModels([], []),
      synthesiser: testSynthesiser,
      store: new MemoryStore(),
      prompts: loadPrompts('en-us'),
      channel: 'realtime',
      gateway: null,
      persona: '',
      toolPolicy: defaultToolPolicy(60_000),
      history: async () => [],
      recordingDirectory: null,
    });
    const info = {
      identity: { strength: 'none', id: null },
      route: '',
      carrier: 'test',
      carrierCallId: 'CA1',
      leg: LEG_CAPABILITIES,
    } as const;
    return { clock, desk, info };
  }

  it('gives a call that has a leg the newest one', async () => {
    const { clock, desk, info } = openDesk();
    const { callId } = await desk.admit(info);
    const [first, second] = [new TestLeg(clock, []), new TestLeg(clock, [])];
    desk.attach(callId, first);

    desk.attach(callId, second);

    expect([first.isClosed, second.isClosed]).toEqual([true, false]);
    expect(desk.activeCalls).toBe(1);
    second.close('caller_hangup');
    await settle();
    expect(desk.activeCalls).toBe(0);
    expect(clock.timerCount).toBe(0);
    expect(() => desk.attach(callId, new TestLeg(clock, []))).toThrow(/no such call/);
  });

  it('closes a call that nobody comes for as abandoned, and frees its line', async () => {
    const { clock, desk, info } = openDesk();
    const ended: string[] = [];
    desk.onCall = (call) => call.on('ended', (reason) => ended.push(reason));
    await desk.admit(info);
    expect(desk.pendingCalls).toBe(1);

    clock.advance(CLAIM_TIMEOUT_MS);
    await settle();

    expect(ended).toEqual(['abandoned']);
    expect(desk.pendingCalls).toBe(0);
    expect(clock.timerCount).toBe(0);
  });
});

describe('a call that lasts too long', () => {
  it('ends after a goodbye that is heard', async () => {
    const test = startCall({ config: { limits: { maxCallS: 10, silenceTimeoutS: 60 } } });
    await test.advance(10_200);
    expect(test.ended).toBeNull();
    test.models.current.callerSpeaks();

    await test.advance(800);

    expect(test.heardMs('verbatim_1')).toBeGreaterThanOrEqual(400);
    expect(test.ended).toBe('max_duration');
  });
});

describe('keys', () => {
  it('go to who asked for them first, and the model hears nothing of them', async () => {
    const test = startCall();
    const pin = test.call.collectDigits({ maxDigits: 4, timeoutMs: 10_000 });
    for (const digit of '1234') test.leg.emit('dtmf', digit);
    test.leg.emit('dtmf', '9');
    test.leg.emit('dtmf', '#');
    await settle();

    expect(await pin).toBe('1234');
    expect(test.models.current.context).toEqual(['[The caller pressed the keys: 9]']);
  });

  it('are one entry after the pound key or a pause; without one in time there is none', async () => {
    const test = startCall();
    const pound = test.call.collectDigits({ timeoutMs: 10_000 });
    for (const digit of '12#') test.leg.emit('dtmf', digit);
    const paused = test.call.collectDigits({ timeoutMs: 10_000 });
    test.leg.emit('dtmf', '7');
    await test.advance(2700);
    const none = test.call.collectDigits({ timeoutMs: 1000 });
    await test.advance(1200);

    expect([await pound, await paused, await none]).toEqual(['12', '7', null]);
  });

  it('that a menu does not take go on to the model', async () => {
    const test = startCall();
    const taken: string[] = [];
    const remove = test.call.consumeDigits({
      digit: (digit) => digit === '1' && taken.push(digit) > 0,
    });
    for (const digit of '12#') test.leg.emit('dtmf', digit);
    remove!();
    for (const digit of '1#') test.leg.emit('dtmf', digit);

    expect(taken).toEqual(['1']);
    expect(test.models.current.context).toEqual([
      '[The caller pressed the keys: 2]',
      '[The caller pressed the keys: 1]',
    ]);
  });

  it('are waited for no longer than the call lasts, and by a bounded number', async () => {
    const test = startCall();
    const waiting = Array.from({ length: MAX_DIGIT_CONSUMERS }, () =>
      test.call.collectDigits({ timeoutMs: 60_000 }),
    );
    expect(await test.call.collectDigits({ timeoutMs: 60_000 })).toBeNull();

    test.leg.close('caller_hangup');

    expect(await Promise.all(waiting)).toEqual(waiting.map(() => null));
    // Found by the random conversations: who asked after the end waited for ever.
    expect(await test.call.collectDigits({ timeoutMs: 60_000 })).toBeNull();
  });

  it('are pressed by the agent on lines that can, and kept nowhere', async () => {
    const test = startCall({ leg: { dtmfOut: true } });
    const model = test.models.current;
    model.respond();
    model.call('k', 'send_dtmf', '{"digits":"4711#"}');
    model.call('wrong', 'send_dtmf', '{"digits":"call me"}');
    model.done();
    await test.advance(200);

    expect(test.leg.sentDigits).toEqual(['4711#']);
    expect(model.outputs.get('k')).toBe('The keys were sent.');
    expect(model.outputs.get('wrong')).toMatch(/^Error/);
    expect(JSON.stringify([...test.store.turns.values(), ...test.progress])).not.toContain('4711');
  });

  it('that take the line away for longer than its grace still find it when it is back', async () => {
    const test = startCall({
      leg: { dtmfOut: true, reconnects: true },
      config: { limits: { reconnectGraceS: 1 } },
    });
    test.models.current.respond();
    test.models.current.call('k', 'send_dtmf', '{"digits":"wwww1"}');
    test.models.current.done();
    await test.advance(200);
    test.leg.close('connection_lost');
    await test.advance(5500);
    expect(test.ended).toBeNull();
    test.newLeg();
    await test.advance(100);

    // Once it is back, the grace is the usual one again.
    test.leg.close('connection_lost');
    await test.advance(1200);
    expect(test.ended).toBe('connection_lost');
  });

  it('can not be pressed where the line does not take any', () => {
    const names = startCall().models.current.session!.tools.map((tool) => tool.function.name);

    expect(names).not.toContain('send_dtmf');
    expect(names).not.toContain('transfer_call');
  });
});

describe('a transfer', () => {
  const allowed = {
    config: { transfers: [{ name: 'sales', target: '+15550100' }] },
    leg: { transfer: true },
  };

  it('goes to the number behind a name of the config, once the caller heard whom to', async () => {
    const test = startCall(allowed);
    const model = test.models.current;
    expect(JSON.stringify(model.session!.tools)).not.toContain('15550100');
    model.respond();
    model.speak(1000);
    model.endItem();
    model.call('t', 'transfer_call', '{"to":"sales"}');
    model.done();
    await test.advance(800);
    expect(test.leg.transfers).toEqual([]);

    await test.advance(600);

    expect(test.leg.transfers).toEqual(['+15550100']);
    expect(test.ended).toBe('transferred');
    expect(test.store.calls.get('c1')!.endReason).toBe('transferred');
    expect(test.store.turns.get('c1:0')!.tools).toMatchObject([{ name: 'transfer_call', isError: false }]);
  });

  it.each(['{"to":"+15550199"}', '{"to":"Sales"}', '{}', '[]'])(
    'never goes to what the model makes up: %s',
    async (args) => {
      const test = startCall(allowed);
      test.models.current.respond();
      test.models.current.call('t', 'transfer_call', args);
      test.models.current.done();
      await test.advance(500);

      expect(test.leg.transfers).toEqual([]);
      expect(test.models.current.outputs.get('t')).toMatch(/^Error/);
      expect(test.ended).toBeNull();
    },
  );

  it('that fails leaves the caller with the agent, who is told', async () => {
    const test = startCall(allowed);
    test.leg.transferFails = true;
    test.models.current.respond();
    test.models.current.call('t', 'transfer_call', '{"to":"sales"}');
    test.models.current.done();

    await test.advance(500);

    expect(test.models.current.outputs.get('t')).toMatch(/did not work/);
    expect(test.models.current.requests).toHaveLength(1);
    expect(test.ended).toBeNull();
  });

  it('waits for a quiet moment, and no longer than the call lasts', async () => {
    const quiet = new Quiet();
    const abort = new AbortController();
    const waits = [quiet.wait(abort.signal), quiet.wait(new AbortController().signal)];
    quiet.tick(false);
    abort.abort();
    expect(await waits[0]).toBe(false);
    expect(quiet.waitingCount).toBe(1);

    quiet.close();

    expect(await waits[1]).toBe(false);
  });

  it('is off when the caller speaks up before it', async () => {
    const test = startCall(allowed);
    const model = test.models.current;
    model.respond();
    model.speak(2000);
    model.endItem();
    model.call('t', 'transfer_call', '{"to":"sales"}');
    model.done();
    await test.advance(800);

    model.callerSpeaks();
    await test.advance(3000);

    expect(test.leg.transfers).toEqual([]);
    expect(model.outputs.get('t')).toMatch(/^Cancelled/);
    expect(test.ended).toBeNull();
  });
});
