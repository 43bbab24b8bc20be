import { beforeAll, describe, expect, it } from 'vitest';
import { loadAudio } from '../../src/audio/index.ts';
import { FalseAlarms, isBackchannel, MAX_RESUMPTIONS } from '../../src/call/false-alarms.ts';
import { REST_OVERLAP_MS } from '../../src/call/output.ts';
import { startCall, type TestCall } from './harness.ts';

beforeAll(() => loadAudio());

const policy = { resumeFalseAlarms: true, falseAlarmWaitMs: 1500 };

const wait = { falseAlarmWaitMs: 1500 } as const;

/** `startCall`, with a short wait for words. */
function start(options: NonNullable<Parameters<typeof startCall>[0]> = {}): TestCall {
  const { config } = options;
  return startCall({ ...options, config: { ...config, interruption: { ...wait, ...config?.interruption } } });
}

/** The agent is `ms` into an answer of ten seconds. */
async function inAnswer(options: Parameters<typeof start>[0] = {}, ms = 2000): Promise<TestCall> {
  const test = start(options);
  const model = test.models.current;
  model.respond();
  model.speak(10_000);
  model.endItem();
  model.done();
  await test.advance(ms);
  return test;
}

/** A sound of the caller's, `ms` long, that the model hears and makes nothing of. */
async function cough(test: TestCall, ms = 200): Promise<void> {
  test.models.current.callerSpeaks();
  await test.advance(ms);
  test.models.current.emit('speechStopped', {});
}

describe('a false alarm', () => {
  it('lets the answer go on where it was cut, with the last words again', async () => {
    const test = await inAnswer();
    await cough(test);
    expect(test.leg.unplayedMs).toBe(0);

    await test.advance(1400);
    expect(test.heardMs('resumed_1')).toBe(0);
    await test.advance(9000);

    const first = test.heardMs('r1_i');
    const rest = test.heardMs('resumed_1');
    expect(first + rest).toBeGreaterThanOrEqual(10_000);
    expect(first + rest).toBeLessThanOrEqual(10_000 + REST_OVERLAP_MS + 40);
    expect(test.violations).toEqual([]);
    expect(test.progress.filter((each) => each.type === 'resumed')).toHaveLength(1);
  });

  it('tells the model that the rest was heard after all, once it was', async () => {
    const test = await inAnswer();
    const model = test.models.current;
    await cough(test);
    expect(model.items.get('r1_i')!.truncated).toBeGreaterThan(1900);
    await test.advance(5000);
    expect(model.restored).toEqual([]);

    await test.advance(6000);

    expect(model.restored).toHaveLength(1);
    expect(model.restored[0]!.role).toBe('assistant');
    // 10 s of "word" at 300 ms each; about 2 s of them were heard before the cough.
    expect(model.restored[0]!.text.split(' ').length).toBeGreaterThan(20);
    expect(test.store.turns.get('c1:0')!.assistantText!.trim().split(/\s+/)).toHaveLength(34);
  });

  it('can itself be interrupted, and the model knows how far the rest was heard', async () => {
    const test = await inAnswer();
    const model = test.models.current;
    await cough(test);
    await test.advance(3600);
    const heard = test.heardMs('resumed_1');
    expect(heard).toBeGreaterThan(1500);

    model.callerSpeaks();
    model.callerSaid('u1', 'Stop, please.');

    expect(model.restored).toHaveLength(1);
    const words = model.restored[0]!.text.split(' ').length;
    expect(words).toBeGreaterThan(3);
    expect(words).toBeLessThan(12);
    await test.advance(3000);
    expect(test.leg.unplayedMs).toBe(0);
    expect(test.violations).toEqual([]);
  });

  it('is none when a word was understood', async () => {
    const test = await inAnswer();
    test.models.current.callerSpeaks();
    await test.advance(300);
    test.models.current.callerSaid('u1', 'Wait.');

    await test.advance(4000);

    expect(test.heardMs('resumed_1')).toBe(0);
  });

  it('is none when the model answers by itself', async () => {
    const test = await inAnswer();
    await cough(test);
    test.models.current.respond();
    test.models.current.speak(500);

    await test.advance(4000);

    expect(test.heardMs('resumed_1')).toBe(0);
    expect(test.heardMs('r2_i')).toBeGreaterThan(400);
  });

  it('is known at once when what was said is no more than a murmur', async () => {
    const test = await inAnswer();
    test.models.current.callerSpeaks();
    await test.advance(300);
    test.models.current.callerSaid('u1', 'Mm-hm.');

    await test.advance(500);

    expect(test.heardMs('resumed_1')).toBeGreaterThan(200);
  });

  it('waits again when the noise comes again', async () => {
    const test = await inAnswer();
    await cough(test);
    await test.advance(1200);
    await cough(test);
    await test.advance(1200);
    expect(test.heardMs('resumed_1')).toBe(0);

    await test.advance(800);

    expect(test.heardMs('resumed_1')).toBeGreaterThan(100);
  });

  it('ends when the model answers late: the answer is heard, not the rest', async () => {
    const test = await inAnswer();
    const model = test.models.current;
    await cough(test);
    await test.advance(2500);
    expect(test.heardMs('resumed_1')).toBeGreaterThan(500);
    test.ops.length = 0;

    model.respond();
    model.speak(600);
    await test.advance(1000);

    expect(test.ops).toContain('clear');
    expect(test.ops).not.toContain('cancel');
    expect(test.heardMs('r2_i')).toBe(600);
    expect(model.restored).toHaveLength(1);
  });

  it('is no matter of the words of the turn before, which come late', async () => {
    const test = start();
    const model = test.models.current;
    model.callerSpeaks();
    model.emit('speechStopped', {});
    model.emit('inputCommitted', { itemId: 'question' });
    model.respond();
    model.speak(8000);
    model.endItem();
    model.done();
    await test.advance(1000);

    await cough(test);
    model.emit('inputTranscript', { itemId: 'question', text: 'Tell me a story.', final: true });
    await test.advance(2000);

    expect(test.heardMs('resumed_1')).toBeGreaterThan(200);
  });

  it('goes on with an announcement, but not with a filler', async () => {
    const test = start();
    void test.call.speakVerbatim('Your parcel is here.');
    await test.advance(200);
    await cough(test, 100);
    await test.advance(2200);
    expect(test.heardMs('verbatim_2')).toBeGreaterThan(200);

    const waiting = start({ config: { limits: { fillerAfterMs: 500 } } });
    waiting.models.current.respond();
    waiting.models.current.call('a', 'send_email');
    waiting.models.current.done();
    await waiting.advance(800);
    expect(waiting.heardMs('verbatim_1')).toBeGreaterThan(100);
    await cough(waiting, 100);
    await waiting.advance(1900);
    expect(waiting.progress.filter((each) => each.type === 'resumed')).toEqual([]);
  });

  it('over a goodbye lets the goodbye be heard to its end, and then the line drops', async () => {
    const test = start();
    const model = test.models.current;
    model.respond();
    model.speak(3000);
    model.endItem();
    model.call('bye', 'end_call');
    model.done();
    await test.advance(1000);

    await cough(test);
    await test.advance(1600);
    expect(test.ended).toBeNull();
    await test.advance(3500);

    expect(test.ended).toBe('agent_hangup');
    expect(test.heardMs('r1_i') + test.heardMs('resumed_1')).toBeGreaterThanOrEqual(3000);
  });

  it('has an answer that was cut while it was made finished by the model', async () => {
    const test = start();
    const model = test.models.current;
    model.respond();
    model.speak(3000);
    await test.advance(1000);

    await cough(test);
    await test.advance(1700);
    expect(model.requests).toEqual([]);
    await test.advance(3000);

    expect(test.heardMs('resumed_1')).toBeGreaterThan(1900);
    expect(model.requests).toHaveLength(1);
    expect(model.requests[0]!.instructions).toMatch(/Go on from there/);
  });

  it('is not gone on with when the config says so', async () => {
    const test = await inAnswer({ config: { interruption: { resumeFalseAlarms: false } } });
    await cough(test);

    await test.advance(4000);

    expect(test.heardMs('resumed_1')).toBe(0);
  });

  it('on a line that is too noisy is given up', () => {
    const alarms = new FalseAlarms(policy);
    let now = 0;
    for (let i = 0; i < MAX_RESUMPTIONS; i++) {
      alarms.interrupted(false, now);
      now += 1500;
      expect(alarms.tick(now)).toBe(true);
    }
    alarms.interrupted(false, now);

    expect(alarms.isOpen).toBe(false);
    alarms.confirmed();
    expect(alarms.isWorthKeeping).toBe(true);
  });

  it('knows a murmur from a word', () => {
    const murmurs = ['mm hm', 'uh huh'];
    expect(['Mm-hm.', 'uh HUH', '', ' … '].map((text) => isBackchannel(text, murmurs))).toEqual([
      true,
      true,
      true,
      true,
    ]);
    expect(isBackchannel('Mm-hm, stop', murmurs)).toBe(false);
  });
});

describe('the policy that turns the agent down first', () => {
  const duck = { config: { interruption: { policy: 'duck-then-confirm', confirmMs: 800 } } } as const;

  it('interrupts as soon as a word is understood, and turns the volume back up', async () => {
    const test = await inAnswer(duck);
    test.models.current.callerSpeaks();
    expect(test.leg.gain).toBeLessThan(1);
    await test.advance(300);

    test.models.current.emit('inputTranscript', { itemId: 'u1', text: 'Stop', final: false });

    expect(test.ops).toContain('clear');
    expect(test.leg.gain).toBe(1);
  });

  it('interrupts after so much speech without a word', async () => {
    const test = await inAnswer(duck);
    test.models.current.callerSpeaks();
    await test.advance(700);
    expect(test.ops).not.toContain('clear');

    await test.advance(300);

    expect(test.ops).toContain('clear');
    expect(test.leg.gain).toBe(1);
  });

  it('lets a murmur pass, and drops the answer that the model makes to it', async () => {
    const test = await inAnswer(duck);
    const model = test.models.current;
    model.callerSpeaks();
    await test.advance(200);
    model.callerSaid('u1', 'Mhm.');
    const answer = model.respond();
    expect(model.active).toBeNull();
    model.emit('outputAudio', { responseId: answer, itemId: 'late', audio: new Uint8Array(1600) });
    await test.advance(9000);

    expect(test.heardMs('r1_i')).toBe(10_000);
    expect(test.heardMs('late')).toBe(0);
    expect(test.violations).toEqual([]);
  });

  it('asks for the answer that it dropped when words come after all', async () => {
    const test = await inAnswer(duck);
    const model = test.models.current;
    model.callerSpeaks();
    await test.advance(200);
    model.emit('speechStopped', {});
    model.emit('inputCommitted', { itemId: 'u1' });
    model.respond();
    await test.advance(300);

    model.emit('inputTranscript', { itemId: 'u1', text: 'Stop!', final: true });
    await test.advance(1700);

    expect(test.leg.unplayedMs).toBe(0);
    expect(model.requests).toHaveLength(1);
  });
});

describe('a detector of our own', () => {
  const local = { config: { interruption: { localDetector: true } } } as const;

  it('interrupts without the model, once, whichever hears the caller first', async () => {
    const test = await inAnswer(local);
    test.ops.length = 0;
    test.detector.isSpeech = true;
    await test.advance(200);
    expect(test.ops.filter((op) => op === 'clear')).toHaveLength(1);

    test.models.current.callerSpeaks();
    await test.advance(100);

    expect(test.ops.filter((op) => op === 'clear' || op.startsWith('truncate'))).toEqual([
      'clear',
      'truncate:r1_i',
    ]);
  });

  it('takes a noise back that the model never heard', async () => {
    const test = await inAnswer(local);
    test.detector.isSpeech = true;
    await test.advance(200);
    test.detector.isSpeech = false;

    await test.advance(2300);

    expect(test.heardMs('resumed_1')).toBeGreaterThan(200);
  });

  it('is off unless it is asked for', async () => {
    const test = await inAnswer();
    test.detector.isSpeech = true;

    await test.advance(500);

    expect(test.ops).not.toContain('clear');
  });
});
