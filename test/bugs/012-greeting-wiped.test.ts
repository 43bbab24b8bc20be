// Elsewhere: the greeting came as one burst; a cough wiped all of it, and the caller heard nothing.

import { describe, expect, it } from 'vitest';
import { realtimeConfigSchema } from '../../src/config.ts';
import { fail, say, stall, type TurnHandler } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall, speech } from './line.ts';

const protect = (turns: TurnHandler, maxMs = 10_000) =>
  placeCall({
    config: {
      greeting: 'Hello.',
      interruption: { protectGreeting: true, protectGreetingMaxMs: maxMs },
    },
    model: { timing: { firstOutputMs: 20, speed: Number.POSITIVE_INFINITY } },
    turns,
  });

describe('bug 12: a protected greeting', () => {
  it.each([40, 900])(
    'of 4 s survives a noise of %i ms at its beginning; the model hears silence meanwhile',
    async (ms) => {
      const line = await protect(() => [say('Hello, this call is recorded.', { durationMs: 4000 })]);
      const { carrier, clock, fake } = line;
      await clock.advance(100);
      void carrier.speak(speech(ms));
      await clock.advance(4600);

      expect(heardMs(carrier)).toBeGreaterThanOrEqual(3960);
      expect(carrier.received.filter(({ event }) => event === 'clear')).toEqual([]);
      expect(fake.session.sentOf('input_audio_buffer.speech_started')).toEqual([]);
      // The model's clock went on: silence, not nothing.
      expect(fake.session.inputMs).toBeGreaterThan(4000);
      await hangUp(line);
    },
  );

  it('lets the caller speak as soon as the carrier has confirmed its last word', async () => {
    const line = await protect(() => [say('Hello.', { durationMs: 1000 })]);
    const { carrier, clock, fake } = line;
    await clock.advance(1200);
    await callerSays(line);

    expect(fake.session.sentOf('input_audio_buffer.speech_started')).toHaveLength(1);
    expect(heardMs(carrier)).toBeGreaterThan(900);
    await hangUp(line);
  });

  it.each([
    ['fails', () => [fail('server_error')]],
    ['has no audio', () => []],
    ['is cancelled', () => [stall()]],
  ] as [string, TurnHandler][])('lets the caller speak when its response %s', async (what, greet) => {
    const line = await protect((turn) => (turn.index === 0 ? greet(turn) : [say('Yes?')]), 30_000);
    const { clock, fake } = line;
    await clock.advance(300);
    if (what === 'is cancelled') {
      const response = { id: fake.session.activeResponseId, status: 'cancelled' };
      fake.session.inject({ type: 'response.done', response });
    }
    // What is said for a failed response is no opening.
    await clock.advance(1200);
    await callerSays(line);

    expect(fake.session.sentOf('input_audio_buffer.speech_started').length).toBeGreaterThanOrEqual(1);
    await hangUp(line);
  });

  it('never protects longer than its cap, which is at most 30 s', async () => {
    const line = await protect(() => [say('An endless notice.', { durationMs: 20_000 })], 2000);
    const { carrier, clock } = line;
    await clock.advance(2500);
    await callerSays(line);

    expect(carrier.received.filter(({ event }) => event === 'clear')).toHaveLength(1);
    expect(realtimeConfigSchema.safeParse({ interruption: { protectGreetingMaxMs: 30_001 } }).success).toBe(
      false,
    );
    await hangUp(line);
  });
});
