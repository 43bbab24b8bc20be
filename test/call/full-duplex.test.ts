/** The same conductor with a model that has no turns: no responses, no cancel, no truncate, a clock that never stops. */
import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { frameTicker, fromSamples, loadAudio, PCMU_8K, silence } from '../../src/audio/index.ts';
import { ITEM_PAUSE_MS, StreamItems } from '../../src/call/stream-items.ts';
import { FullDuplexModels, MAX_INPUT_GAP_MS, tone } from '../../src/testing/index.ts';
import { ManualClock, settle, startCall, type TestCallOptions } from './harness.ts';

beforeAll(() => loadAudio());

const VOICE = fromSamples(tone(20, 300, 8000).samples, PCMU_8K);

function startFullDuplex(options: TestCallOptions = {}) {
  const clock = new ManualClock();
  const models = new FullDuplexModels(clock);
  const test = startCall({ ...options, clock, parts: { ...options.parts, models } });
  return {
    ...test,
    test,
    models,
    /** The caller speaks. */
    async callerSpeaks(ms: number) {
      for (let left = ms; left > 0; left -= 20) {
        test.leg.emit('audio', VOICE);
        clock.advance(20);
        await settle();
      }
    },
    /** Time goes by, and the carrier sends nothing. */
    async nothingComes(ms: number) {
      for (let left = ms; left > 0; left -= 20) {
        clock.advance(Math.min(20, left));
        await settle();
      }
    },
  };
}

const longSilence = { limits: { silenceTimeoutS: 600 } } as const;

describe('a call with a model without turns', () => {
  it('is greeted with our own voice: nothing is asked of the model', async () => {
    const { test, models, advance, heardMs } = startFullDuplex({ config: { greeting: 'Hello.' } });
    await advance(1000);

    expect(heardMs('verbatim_1')).toBeGreaterThanOrEqual(400);
    expect(models.violations).toEqual([]);
    expect(test.ended).toBeNull();
  });

  it('keeps the model’s clock running when the caller’s audio pauses', async () => {
    const { models, advance, nothingComes } = startFullDuplex();
    await advance(1000);
    await nothingComes(3000);
    await advance(1000);

    expect(models.current.inputMs).toBeGreaterThan(4700);
    expect(models.current.inputMs).toBeLessThanOrEqual(5000 + 100);
    expect(models.violations).toEqual([]);
  });

  it('and while the caller’s line is down', async () => {
    const { test, models, advance, nothingComes } = startFullDuplex({ leg: { reconnects: true } });
    await advance(500);
    test.leg.close('connection_lost');
    await nothingComes(1500);
    test.newLeg();
    await advance(500);

    expect(models.violations).toEqual([]);
    expect(models.current.inputMs).toBeGreaterThan(2200);
    expect(test.ended).toBeNull();
  });

  it('is a double that notices when its clock stands still', async () => {
    const clock = new ManualClock();
    const model = new FullDuplexModels(clock).create();
    await model.connect({ instructions: '', tools: [], inputFormat: PCMU_8K, outputFormat: PCMU_8K });

    clock.advance(MAX_INPUT_GAP_MS + 1);
    model.appendAudio(VOICE);
    model.requestResponse({ requestId: 'x' });

    expect(model.violations).toHaveLength(2);
  });

  it('hears each utterance whole, and its silence leaves the line quiet', async () => {
    const { models, advance, heardMs, test } = startFullDuplex({ config: longSilence });
    models.current.say('One two three four five six', 1200);
    await advance(3000);
    models.current.say('Seven eight', 500);
    await advance(2000);

    // The pause that ends an utterance is played; what follows is not.
    for (const [item, ms] of [
      ['stream_1_1', 1200],
      ['stream_1_2', 500],
    ] as const) {
      expect(heardMs(item)).toBeGreaterThanOrEqual(ms);
      expect(heardMs(item)).toBeLessThanOrEqual(ms + ITEM_PAUSE_MS + 20);
    }
    expect(test.progress.flatMap((each) => (each.type === 'agent_said' ? [each.text.trim()] : []))).toEqual([
      'One two three four five six',
      'Seven eight',
    ]);
    expect(test.store.turns.get('c1:0')!.assistantText).toContain('Seven eight');
  });

  it('keeps what the caller said as turns, though none is ever committed', async () => {
    const { models, advance, test } = startFullDuplex({ config: longSilence });
    await advance(200);
    models.current.hear('t1', 'What is new?');
    models.current.say('Nothing much', 400);
    await advance(1500);
    models.current.hear('t2', 'Fine.');
    await advance(500);

    expect(
      [...test.store.turns.values()].map(({ userText, assistantText }) => [
        userText,
        assistantText?.trim() ?? null,
      ]),
    ).toEqual([
      [null, null],
      ['What is new?', 'Nothing much'],
      ['Fine.', null],
    ]);
  });

  it('is interrupted by the model’s own decision: it falls silent, and nothing is cancelled', async () => {
    const { models, advance, callerSpeaks, test } = startFullDuplex({ config: longSilence });
    models.current.say('a '.repeat(40).trim(), 8000);
    await advance(2000);

    await callerSpeaks(600);
    await advance(1000);

    expect(models.current.yields).toBe(1);
    expect(models.violations).toEqual([]);
    expect(test.heardMs('stream_1_1')).toBeLessThan(3200);
    models.current.say('Yes?', 400);
    await advance(1000);
    expect(test.heardMs('stream_1_2')).toBeGreaterThanOrEqual(400);
  });

  it('is silenced at once where we hear the caller first, and hears what the model says next', async () => {
    const { models, advance, test } = startFullDuplex({
      config: { ...longSilence, interruption: { localDetector: true } },
    });
    models.current.say('a '.repeat(40).trim(), 8000);
    await advance(2000);
    test.ops.length = 0;

    test.detector.isSpeech = true;
    await advance(200);
    expect(test.ops.filter((op) => op === 'clear')).toHaveLength(1);
    test.detector.isSpeech = false;
    await advance(2000);

    // It has not fallen silent by itself: what it goes on to say is heard, and no rest is brought back.
    expect(test.leg.heardMs('stream_1_1')).toBeGreaterThan(3000);
    expect(test.progress.filter((each) => each.type === 'resumed')).toEqual([]);
    expect(models.violations).toEqual([]);
  });

  it('has one output for each tool call, and nothing is asked for after it', async () => {
    const { models, advance, test } = startFullDuplex({ config: longSilence });
    const calls = Array.from({ length: 40 }, (_, n) => n);
    for (const n of calls) {
      const id = models.current.call('read_file', `{"n":${n}}`);
      await settle();
      test.gateway.pending[0]!.finish(`file ${n}`);
      await settle();
      expect(models.current.outputs.get(id)).toBe(`file ${n}`);
      if (n % 8 === 0) models.current.hear(`t${n}`, 'And the next one?');
    }
    await advance(200);

    expect(models.current.openCalls).toEqual([]);
    expect(models.violations).toEqual([]);
  });

  it('runs its calls side by side, in any order of completion, with a filler meanwhile', async () => {
    const { models, advance, test } = startFullDuplex({
      config: { limits: { fillerAfterMs: 500, silenceTimeoutS: 600 } },
    });
    const [first, second] = [models.current.call('send_email', '{"a":1}'), models.current.call('read_file')];
    await advance(1200);
    expect(test.heardMs('verbatim_1')).toBeGreaterThan(0);

    test.gateway.pending[1]!.finish('second');
    await settle();
    test.gateway.pending[0]!.finish('first');
    await settle();

    expect([models.current.outputs.get(first), models.current.outputs.get(second)]).toEqual([
      'first',
      'second',
    ]);
    expect(models.violations).toEqual([]);
  });

  it('ends when its goodbye was heard, said before the end was asked for or after', async () => {
    const before = startFullDuplex({ config: longSilence });
    before.models.current.say('Goodbye now', 800);
    await before.advance(500);
    before.models.current.call('end_call');
    await before.advance(600);
    expect(before.test.ended).toBeNull();
    await before.advance(1200);
    expect(before.test.ended).toBe('agent_hangup');
    expect(before.heardMs('stream_1_1')).toBeGreaterThanOrEqual(800);

    const after = startFullDuplex({ config: longSilence });
    after.models.current.call('end_call');
    await after.advance(300);
    after.models.current.say('Goodbye then', 700);
    await after.advance(2500);
    expect(after.test.ended).toBe('agent_hangup');
    expect(after.heardMs('stream_1_1')).toBeGreaterThanOrEqual(700);
    expect([...before.models.violations, ...after.models.violations]).toEqual([]);
  });

  it('passes keys and notes on as context, and asks a silent caller once', async () => {
    const { models, advance, test } = startFullDuplex({ config: { limits: { silenceTimeoutS: 5 } } });
    for (const digit of '12#') test.leg.emit('dtmf', digit);
    expect(models.current.context).toEqual([{ role: 'user', text: '[The caller pressed the keys: 12]' }]);
    await advance(5600);
    expect(test.heardMs('verbatim_1')).toBeGreaterThanOrEqual(300);

    await advance(8000);

    expect(test.ended).toBe('silence');
    expect(models.violations).toEqual([]);
  });

  it('survives a session that breaks: the next one is told what was said, and is asked for nothing', async () => {
    const { models, advance, heardMs } = startFullDuplex({ config: longSilence });
    models.current.hear('t1', 'Tell me a story.');
    models.current.say('Once upon a time', 800);
    await advance(2000);

    models.current.drop();
    await advance(1000);
    models.current.say('Where was I', 600);
    await advance(1500);

    expect(models.sessions).toHaveLength(2);
    expect(models.current.session!.history!.map((item) => item.role)).toEqual(['user', 'assistant']);
    expect(heardMs('stream_2_1')).toBeGreaterThanOrEqual(600);
    expect(models.violations).toEqual([]);
  });

  it('writes down the seconds that the model reports', async () => {
    const { models, advance, test } = startFullDuplex({ config: { model: { prices: { minute: 0.06 } } } });
    models.current.say('Hello there', 1000);
    await advance(600);
    models.current.report(30);
    await advance(1500);
    test.leg.close('caller_hangup');
    await settle();

    expect(test.record!.usage.seconds).toBe(30);
    expect(test.record!.usage.cost).toBeCloseTo(0.03, 9);
    // The account does not cut what is being said.
    expect(test.heardMs('stream_1_1')).toBeGreaterThanOrEqual(1000);
  });
});

describe('the endless sound of a model', () => {
  const loud = fromSamples(tone(100, 300, 8000).samples, PCMU_8K);
  const quiet = silence(800, PCMU_8K);

  it('is cut into items at its pauses', () => {
    const stream = new StreamItems(PCMU_8K, 1);
    const items = [quiet, loud, quiet, loud, quiet, quiet, quiet, quiet, quiet, loud].map((audio, n) =>
      stream.itemOf(audio, n * 100),
    );

    const one = 'stream_1_1';
    expect(items).toEqual([null, one, one, one, one, one, one, one, null, 'stream_1_2']);
    expect(stream.tick(1000)).toBe(one);
    expect(stream.tick(1000)).toBeNull();
  });

  it('ends an item when nothing comes any more', () => {
    const stream = new StreamItems(PCMU_8K, 2);
    stream.itemOf(loud, 0);
    expect(stream.tick(ITEM_PAUSE_MS - 1)).toBeNull();

    expect(stream.tick(ITEM_PAUSE_MS)).toBe('stream_2_1');
  });
});

describe('random conversations with a model without turns', () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({ type: fc.constant('advance' as const), ms: fc.constantFrom(20, 200, 1000) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constant('nothing' as const), ms: fc.constantFrom(40, 300, 900) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({ type: fc.constant('caller' as const), ms: fc.constantFrom(60, 400) }),
    },
    {
      weight: 5,
      arbitrary: fc.record({ type: fc.constant('say' as const), ms: fc.constantFrom(100, 700, 3000) }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant('hear' as const),
        text: fc.constantFrom('', 'Mhm.', 'Go on.'),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        type: fc.constant('call' as const),
        name: fc.constantFrom('read_file', 'send_email', 'end_call', 'stop_working', 'ask_agent'),
      }),
    },
    { weight: 3, arbitrary: fc.constant({ type: 'toolFinishes' as const }) },
    { weight: 1, arbitrary: fc.constant({ type: 'interrupted' as const }) },
    { weight: 1, arbitrary: fc.constant({ type: 'localSpeech' as const }) },
    { weight: 1, arbitrary: fc.constant({ type: 'digit' as const }) },
    { weight: 1, arbitrary: fc.constant({ type: 'verbatim' as const }) },
    { weight: 1, arbitrary: fc.constant({ type: 'newLeg' as const }) },
    { weight: 1, arbitrary: fc.constant({ type: 'drop' as const }) },
  );

  it('never ask it for what it does not have, never stop its clock, and leave nothing behind', {
    timeout: 120_000,
  }, async () => {
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: 25 }),
      fc.boolean(),
      fc.constantFrom('immediate' as const, 'duck-then-confirm' as const),
      async (steps, localDetector, policy) => {
        const { test, models, advance, nothingComes, callerSpeaks } = startFullDuplex({
          config: { greeting: 'Hello.', interruption: { localDetector, policy }, tools: { mode: 'both' } },
        });
        let turns = 0;
        for (const each of steps) {
          if (test.ended !== null) break;
          const model = models.current;
          if (each.type === 'advance') await advance(each.ms);
          else if (each.type === 'nothing') await nothingComes(each.ms);
          else if (each.type === 'caller') await callerSpeaks(each.ms);
          else if (each.type === 'say') model.say('one two three four', each.ms);
          else if (each.type === 'hear' && !model.isClosed) model.hear(`t${++turns}`, each.text);
          else if (each.type === 'call' && !model.isClosed) model.call(each.name, '{"request":"x"}');
          else if (each.type === 'toolFinishes') test.gateway.pending[0]?.finish('done');
          else if (each.type === 'interrupted' && !model.isClosed) model.emit('interrupted');
          else if (each.type === 'localSpeech') test.detector.isSpeech = !test.detector.isSpeech;
          else if (each.type === 'digit') test.leg.emit('dtmf', '1');
          else if (each.type === 'verbatim') void test.call.speakVerbatim('News.');
          else if (each.type === 'newLeg') test.newLeg();
          else if (each.type === 'drop' && !model.isClosed) model.drop();
          await settle();
          expect(models.violations).toEqual([]);
          expect(test.leg.unplayedMs).toBeLessThanOrEqual(200);
        }
        test.leg.close('caller_hangup');
        for (const tool of [...test.gateway.pending]) tool.finish('late');
        for (const asked of test.delegate.asked) asked.answer('late');
        await settle();
        await settle();
        expect(test.ended).not.toBeNull();
        expect(test.clock.timerCount).toBe(0);
        expect(frameTicker(test.clock).subscriberCount).toBe(0);
        for (const session of models.sessions) expect(session.listenerCount()).toBe(0);
      },
    );
    await fc.assert(property, {
      numRuns: 1500,
      seed: Number(process.env.PROPERTY_SEED ?? Date.now() & 0x7fff_ffff),
    });
  });
});
