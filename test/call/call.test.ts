import { beforeAll, describe, expect, it } from 'vitest';
import { frameTicker, loadAudio } from '../../src/audio/index.ts';
import { settle, startCall } from './harness.ts';

beforeAll(() => loadAudio());

describe('an interruption', () => {
  it('stops sending, clears the leg, cancels and truncates, in that order and once', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.speak(4000);
    await test.advance(1500);
    test.ops.length = 0;

    model.callerSpeaks();
    model.callerSpeaks();

    expect(test.ops).toEqual(['clear', 'cancel', 'truncate:r1_i']);
    expect(test.violations).toEqual([]);
  });

  it('truncates where the loudspeaker really was', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.speak(4000);
    await test.advance(1500);
    const heard = test.leg.heardMs('r1_i');

    model.callerSpeaks();

    expect(heard).toBeGreaterThan(1400);
    expect(Math.abs(model.items.get('r1_i')!.truncated! - heard)).toBeLessThanOrEqual(20);
  });

  it('reaches an answer that had been generated to its end', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.speak(10_000);
    model.endItem();
    model.done();
    await test.advance(2000);
    test.ops.length = 0;

    model.callerSpeaks();

    expect(test.ops).toEqual(['clear', 'truncate:r1_i']);
    expect(Math.abs(model.items.get('r1_i')!.truncated! - 2000)).toBeLessThanOrEqual(40);
  });

  it('deletes what was queued behind the interrupted item, because nobody heard it', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.speak(2000, 'a');
    model.endItem('a');
    model.speak(2000, 'b');
    await test.advance(1000);

    model.callerSpeaks();

    expect(model.items.get('a')!.truncated).toBeGreaterThan(900);
    expect(model.items.get('b')!.deleted).toBe(true);
    expect(test.violations).toEqual([]);
  });

  it('before the first audio cancels the response and does not mute the call', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.callerSpeaks();
    expect(model.active).toBeNull();
    model.emit('speechStopped', {});
    model.emit('inputCommitted', { itemId: 'u1' });

    model.respond();
    model.speak(500);
    await test.advance(300);

    expect(test.leg.heardMs('r2_i')).toBeGreaterThan(200);
  });

  it('never lets late audio of the cancelled response through', async () => {
    const test = startCall({ model: { interruptsItself: true } });
    const model = test.models.current;
    const responseId = model.respond();
    model.speak(1000);
    await test.advance(200);
    model.callerSpeaks();
    test.ops.length = 0;

    model.emit('outputAudio', { responseId, itemId: 'r1_i', audio: new Uint8Array(1600) });
    await test.advance(400);

    expect(test.ops).not.toContain('send');
  });

  it('keeps out what still comes of an answer that was done but not heard to its end', async () => {
    const test = startCall();
    const model = test.models.current;
    const responseId = model.respond();
    model.speak(4000);
    model.done();
    await test.advance(1000);
    model.callerSpeaks();
    model.callerSaid('u1', 'Stop.');
    test.ops.length = 0;

    model.emit('outputAudio', { responseId, itemId: 'late', audio: new Uint8Array(8000).fill(0x20) });
    await test.advance(500);

    expect(test.ops).not.toContain('send');
  });

  it('by a short noise is forgotten under the policy that turns the agent down first', async () => {
    const test = startCall({ config: { interruption: { policy: 'duck-then-confirm', confirmMs: 300 } } });
    const model = test.models.current;
    model.respond();
    model.speak(4000);
    await test.advance(1000);

    model.callerSpeaks();
    expect(test.leg.gain).toBeLessThan(1);
    await test.advance(160);
    model.emit('speechStopped', {});
    await test.advance(600);

    expect(test.ops).not.toContain('clear');
    expect(test.leg.gain).toBe(1);
  });
});

describe('tools', () => {
  it('of one response run in parallel and bring one output each and one continuation', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    for (const id of ['a', 'b', 'c']) model.call(id);
    model.done();
    await settle();
    expect(test.gateway.pending).toHaveLength(3);

    test.gateway.pending[2]!.finish('third');
    await settle();
    test.gateway.pending[0]!.finish('first');
    await settle();
    expect(model.requests).toHaveLength(0);
    test.gateway.pending[0]!.finish('second');
    await settle();

    expect(Object.fromEntries(model.outputs)).toEqual({ a: 'first', b: 'second', c: 'third' });
    expect(model.requests).toHaveLength(1);
  });

  it.each(['not json', '[]', '"x"', '7', `{"a":"${'x'.repeat(70_000)}"}`])(
    'with arguments that are no object (%#) get an error and are not run',
    async (args) => {
      const test = startCall();
      const model = test.models.current;
      model.respond();
      model.call('a', 'read_file', args);
      model.done();
      await settle();

      expect(test.gateway.calls).toEqual([]);
      expect(model.outputs.get('a')).toMatch(/^Error/);
      expect(model.requests).toHaveLength(1);
    },
  );

  it('that hang are covered by a filler, then timed out, aborted and answered for', async () => {
    const test = startCall({ config: { limits: { toolTimeoutS: 5, fillerAfterMs: 1000 } } });
    const model = test.models.current;
    model.respond();
    model.call('a');
    model.done();
    await test.advance(1600);
    expect(test.leg.heardMs('verbatim_1')).toBeGreaterThan(200);

    await test.advance(4000);

    expect(model.outputs.get('a')).toMatch(/did not answer in time/);
    expect(test.gateway.aborted).toBe(1);
    test.gateway.pending[0]!.finish('too late');
    await settle();
    expect(test.violations).toEqual([]);
  });

  it('that only read are aborted by an interruption, others finish and are not issued twice', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.speak(3000);
    model.call('reads', 'read_file');
    model.call('sends', 'send_email');
    await test.advance(500);

    model.callerSpeaks();
    await settle();
    expect(model.outputs.get('reads')).toMatch(/^Cancelled/);
    expect(model.outputs.has('sends')).toBe(false);
    test.gateway.pending.find((tool) => tool.name === 'send_email')!.finish('sent');
    await settle();

    expect(model.outputs.get('sends')).toBe('sent');
    expect(test.gateway.calls).toEqual(['read_file', 'send_email']);
  });

  it('that throw still give the model its output', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.call('a');
    model.done();
    await settle();

    test.gateway.pending[0]!.fail(new Error('host gone'));
    await settle();

    expect(model.outputs.get('a')).toMatch(/^Error executing read_file/);
  });

  it('get a cut output when it is too long for a conversation', async () => {
    const test = startCall({ config: { limits: { toolOutputChars: 200 } } });
    const model = test.models.current;
    model.respond();
    model.call('a');
    await settle();
    test.gateway.pending[0]!.finish('x'.repeat(1000));
    await settle();

    expect(model.outputs.get('a')).toBe(`${'x'.repeat(200)}\n[cut: 800 more characters]`);
    expect(test.store.turns.get('c1:0')!.tools[0]!.output).toHaveLength(1000);
  });
});

describe('the model session', () => {
  it('that drops is replaced, is told what was heard, and greets nobody twice', async () => {
    const test = startCall({ config: { greeting: 'Hello.' } });
    const first = test.models.current;
    first.answerRequest();
    first.speak(800);
    first.endItem();
    first.done();
    await test.advance(1200);
    first.emit('speechStarted', {});
    first.emit('speechStopped', {});
    first.emit('inputCommitted', { itemId: 'u1' });
    first.emit('inputTranscript', { itemId: 'u1', text: 'What is new?', final: true });

    first.drop();
    await test.advance(800);

    const second = test.models.current;
    expect(second).not.toBe(first);
    expect(second.session!.history!.map((item) => item.role)).toEqual(['assistant', 'user']);
    expect(second.requests).toHaveLength(1);
    expect(second.requests[0]!.say).toBeUndefined();
    expect(second.requests[0]!.instructions).toMatch(/go on/);
    expect(test.ended).toBeNull();
  });

  it('brings a result of the old session as information, once', async () => {
    const test = startCall();
    const first = test.models.current;
    first.respond();
    first.call('a', 'send_email');
    first.done();
    await settle();

    first.drop();
    await test.advance(800);
    test.gateway.pending[0]!.finish('sent');
    await settle();

    const second = test.models.current;
    // It knows of the call before the result is there.
    expect(second.session!.history).toEqual([
      {
        role: 'system',
        text: expect.stringMatching(/still running.*Do not call them again: send_email {}$/),
      },
    ]);
    expect(second.outputs.size).toBe(0);
    expect(second.context.join()).toMatch(/send_email: sent/);
    expect(test.violations).toEqual([]);
  });

  it('that was replaced is not answered when the caller interrupts a tool of the old one', async () => {
    // Found by the random conversations: an interruption after a reconnect sent an output for a call id that the
    // new session did not know.
    const test = startCall();
    const first = test.models.current;
    first.respond();
    first.call('a', 'read_file');
    first.drop();
    await test.advance(800);
    const second = test.models.current;
    second.answerRequest();
    second.speak(1000);
    await test.advance(300);

    second.callerSpeaks();
    await settle();

    expect(test.violations).toEqual([]);
    expect(second.outputs.size).toBe(0);
    expect(test.gateway.aborted).toBe(1);
  });

  it('that keeps dropping is given up after three quick failures, and the caller is told', async () => {
    const test = startCall();
    for (let i = 0; i < 4; i++) {
      test.models.current.drop();
      await test.advance(2200);
    }

    expect(test.models.sessions).toHaveLength(4);
    expect(test.ended).toBe('model_failed');
    expect(test.leg.heardMs('verbatim_1')).toBeGreaterThan(300);
  });

  it('is given up at once on a fatal error', async () => {
    const test = startCall();

    test.models.current.emit('error', { severity: 'fatal', code: 'insufficient_quota', message: '' });
    await test.advance(1500);

    expect(test.models.sessions).toHaveLength(1);
    expect(test.ended).toBe('model_failed');
  });

  it('is replaced before its limit, in a quiet moment, without a word', async () => {
    const test = startCall({
      model: { maxSessionMs: 400_000 },
      config: { limits: { silenceTimeoutS: 3600 } },
    });
    await test.advance(99_000);
    expect(test.models.sessions).toHaveLength(1);

    await test.advance(2000);

    expect(test.models.sessions).toHaveLength(2);
    expect(test.ops).not.toContain('send');
    expect(test.ended).toBeNull();
  });

  it('that stalls is cancelled, and the caller hears something', async () => {
    const test = startCall({ config: { limits: { responseStallS: 3 } } });
    test.models.current.respond();

    await test.advance(4500);

    expect(test.ops).toContain('cancel');
    expect(test.leg.heardMs('verbatim_1')).toBeGreaterThan(300);
  });
});

describe('the end of a call', () => {
  it('by the agent waits until the goodbye was heard', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.speak(1000);
    model.endItem();
    model.call('bye', 'end_call');
    model.done();

    await test.advance(900);
    expect(test.ended).toBeNull();
    await test.advance(600);

    expect(test.ended).toBe('agent_hangup');
    expect(test.leg.isClosed).toBe(true);
  });

  it('asks for a goodbye when none was said, and is taken back when the caller speaks on', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.call('bye', 'end_call');
    model.done();
    await test.advance(100);
    expect(model.requests).toHaveLength(1);
    model.answerRequest();
    model.speak(1500);
    await test.advance(500);

    model.callerSpeaks();
    await test.advance(5000);

    expect(test.ended).toBeNull();
  });

  it('frees everything: timers, listeners, ticker, tools', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.speak(5000);
    model.call('a', 'read_file');
    await test.advance(300);

    test.leg.close('caller_hangup');
    await settle();
    await test.advance(100);

    expect(test.ended).toBe('caller_hangup');
    expect(test.gateway.aborted).toBe(1);
    expect(test.clock.timerCount).toBe(0);
    expect(frameTicker(test.clock).subscriberCount).toBe(0);
    expect(test.leg.listenerCount()).toBe(0);
    expect(model.listenerCount()).toBe(0);
    expect(model.isClosed).toBe(true);
    expect(test.store.calls.get('c1')!.endReason).toBe('caller_hangup');
  });

  it('comes after a silence that was asked about once', async () => {
    const test = startCall({ config: { limits: { silenceTimeoutS: 5 } } });
    await test.advance(6000);
    expect(test.leg.heardMs('verbatim_1')).toBeGreaterThan(0);
    expect(test.ended).toBeNull();

    await test.advance(8000);

    expect(test.ended).toBe('silence');
  });

  it('comes when the carrier sends no more audio', async () => {
    const test = startCall({ config: { limits: { noMediaTimeoutS: 5 } } });
    test.clock.advance(5500);
    await settle();

    expect(test.ended).toBe('no_media');
  });

  it('survives a store that fails, and counts it', async () => {
    const test = startCall();
    test.store.isBroken = true;
    test.models.current.respond();
    test.models.current.speak(500);
    await test.advance(1000);
    test.leg.close('caller_hangup');
    await settle();
    await settle();

    expect(test.ended).toBe('caller_hangup');
  });
});

describe('keys', () => {
  it('reach the model as one entry, and interrupt', async () => {
    const test = startCall();
    const model = test.models.current;
    model.respond();
    model.speak(3000);
    await test.advance(500);

    for (const digit of ['1', '2', '#']) test.leg.emit('dtmf', digit);

    expect(test.ops).toContain('clear');
    expect(model.context).toEqual(['[The caller pressed the keys: 12]']);
  });
});
