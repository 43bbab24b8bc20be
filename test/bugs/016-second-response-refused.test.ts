// Elsewhere: a greeting, a typed message or a tool's continuation asked for a response while one ran, and the model
// refused it: "conversation already has an active response".

import { describe, expect, it } from 'vitest';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall, speech } from './line.ts';

const COLLISION = 'conversation_already_has_active_response';

describe('bug 16: a tool’s result at the moment the caller’s turn ends', () => {
  // The turn ends 500 ms after the last sound; the result comes around that time.
  it.each([-60, -20, -1, 0, 1, 20, 60, 200])(
    '(%i ms apart) asks once, collides never, and loses nothing',
    async (offset) => {
      let finish: (() => void) | null = null;
      const line = await placeCall({
        hears: ['look it up', 'and hurry'],
        turns: ({ heard, toolOutputs }) => {
          if (heard === 'look it up') return [call('send_email')];
          if (toolOutputs.length > 0) return [say('Here is what came of it.', { durationMs: 1000 })];
          return [say('I hurry.', { durationMs: 1000 })];
        },
        config: { limits: { fillerAfterMs: 60_000 } },
        parts: {
          gateway: {
            getToolDefinitions: () => [],
            executeTool: () =>
              new Promise((resolve) => {
                finish = () => resolve({ content: 'sent', isError: false });
              }),
          },
        },
      });
      const { carrier, clock, fake, call: conductor } = line;
      await callerSays(line);
      await clock.waitFor('the tool', () => finish !== null);
      await clock.drive(carrier.speak(speech(600)));
      await clock.waitFor(
        'the end of speech',
        () => fake.session.sentOf('input_audio_buffer.speech_stopped').length > 1,
      );
      const from = carrier.nowMs;

      // At 0 the operator speaks too, in the same tick.
      if (offset > 0) await clock.advance(offset);
      if (offset === 0) void conductor.speakVerbatim('An announcement.');
      finish!();
      await clock.advance(9000);

      expect(fake.violations.map(({ code }) => code)).toEqual([]);
      const output = fake.session
        .receivedOf('conversation.item.create')
        .filter(({ item }) => item.type === 'function_call_output');
      expect(output).toHaveLength(1);
      expect(fake.session.receivedOf('response.create').length).toBeLessThanOrEqual(1);
      // Whoever brought the response that saw the result: the caller heard of it.
      expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(980);
      const said = fake.session.items.flatMap(({ content }) => content ?? []).map((part) => part.transcript);
      expect(said).toContain('Here is what came of it.');
      await hangUp(line);
    },
  );

  it('collides on a slow network, is asked for again, and loses nothing', async () => {
    const line = await placeCall({
      model: { latencyMs: 120 },
      tools: { send_email: { latencyMs: 1520, outcome: 'sent' } },
      hears: ['look it up', 'and hurry'],
      turns: ({ heard, toolOutputs, trigger }) => {
        if (heard === 'look it up') return [call('send_email')];
        if (toolOutputs.length > 0) return [say('Here is what came of it.', { durationMs: 1000 })];
        return trigger === 'speech' ? [say('I hurry.', { durationMs: 1000 })] : [];
      },
      config: { limits: { fillerAfterMs: 60_000 } },
    });
    const { carrier, clock, fake } = line;
    await callerSays(line);
    await clock.drive(carrier.speak(speech(500)));
    await clock.advance(12_000);

    const said = fake.session.items.flatMap(({ content }) => content ?? []).map((part) => part.transcript);
    expect(said).toContain('Here is what came of it.');
    const { counters } = await hangUp(line, [COLLISION]);
    expect(counters.responses_dropped ?? 0).toBe(0);
  });
});
