import { beforeAll, describe, expect, it } from 'vitest';
import { loadAudio } from '../../src/audio/index.ts';
import { MAX_USAGE_TURNS, UsageMeter } from '../../src/call/usage.ts';
import { realtimeConfigSchema } from '../../src/config.ts';
import { settle, startCall } from './harness.ts';

beforeAll(() => loadAudio());

type Prices = ConstructorParameters<typeof UsageMeter>[0];
const prices = (input: Partial<Prices>): Prices =>
  realtimeConfigSchema.parse({ model: { prices: input } }).model.prices;

describe('the usage of a call', () => {
  it('is kept for each turn and in all, with what the config says it costs', async () => {
    const test = startCall({
      config: { model: { prices: { currency: 'EUR', inputAudio: 32, outputAudio: 64, inputText: 4 } } },
    });
    const model = test.models.current;
    model.respond();
    model.speak(500);
    model.done('completed', {
      inputTokens: 1000,
      inputAudioTokens: 500,
      outputTokens: 200,
      outputAudioTokens: 200,
    });
    await test.advance(700);
    model.callerSpeaks();
    await test.advance(600);
    model.callerSaid('u1', 'And now?');
    model.respond();
    model.done('completed', { inputTokens: 2000, inputAudioTokens: 2000, outputTokens: 0 });
    test.leg.close('caller_hangup');
    await settle();

    const { usage } = test.record!;
    expect(usage).toMatchObject({ responses: 2, inputTokens: 3000, outputTokens: 200, currency: 'EUR' });
    expect(usage.callerSpeechMs).toBe(600);
    expect(usage.agentSpeechMs).toBe(500);
    expect(usage.turns).toMatchObject([
      { turn: 0, responses: 1, inputTokens: 1000, outputAudioTokens: 200 },
      { turn: 1, responses: 1, inputTokens: 2000 },
    ]);
    // 500 text and 500 audio in, 200 audio out; then 2000 audio in; per million.
    expect(usage.turns[0]!.cost).toBeCloseTo((500 * 4 + 500 * 32 + 200 * 64) / 1e6, 9);
    expect(usage.cost).toBeCloseTo((500 * 4 + 2500 * 32 + 200 * 64) / 1e6, 9);
  });

  it('has no cost without prices', () => {
    const meter = new UsageMeter(prices({}));
    meter.response(1, { inputTokens: 10 });

    expect(meter.build()).not.toHaveProperty('cost');
    expect(meter.build()).not.toHaveProperty('currency');
  });

  it('takes cached tokens at their price, text first', () => {
    const meter = new UsageMeter(prices({ inputText: 4, inputAudio: 32, inputCached: 0.4 }));
    meter.response(1, { inputTokens: 1000, inputAudioTokens: 400, cachedInputTokens: 700 });

    // 600 text, all of them cached; 100 of the audio; 300 audio at full price.
    expect(meter.build().cost).toBeCloseTo((700 * 0.4 + 300 * 32) / 1e6, 12);
  });

  it('counts seconds of a model that is paid by time', () => {
    const meter = new UsageMeter(prices({ minute: 0.05 }));
    meter.response(1, { seconds: 90 });

    expect(meter.build().seconds).toBe(90);
    expect(meter.build().cost).toBeCloseTo(0.075, 9);
  });

  it('keeps a bounded number of turns apart', () => {
    const meter = new UsageMeter(prices({}));
    for (let turn = 0; turn < MAX_USAGE_TURNS + 5; turn++) meter.response(turn, { inputTokens: 1 });

    expect(meter.build().turns).toHaveLength(MAX_USAGE_TURNS);
    expect(meter.build().inputTokens).toBe(MAX_USAGE_TURNS + 5);
  });
});
