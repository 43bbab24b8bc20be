// Elsewhere: a provider's own "stop what you are playing" was not handled and the agent talked over the caller; another's
// "there is nothing to cancel" was taken for the end of the conversation.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { callerSays, errorEvent, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 13: a model that interrupts itself', () => {
  it('clears the line, tells the model what was heard, and drops what still comes of it', async () => {
    const line = await placeCall({
      config: { greeting: 'A long story.' },
      turns: ({ index }) => [say('A long story.', { durationMs: index === 0 ? 12_000 : 1000 })],
      model: { timing: { speed: 1.5 } },
    });
    const { carrier, clock, fake } = line;
    await clock.drive(carrier.whenAgentSpeaks());
    await clock.advance(1500);

    const response = { id: fake.session.activeResponseId, status: 'cancelled', output: [] };
    fake.session.inject({ type: 'response.done', response });
    await clock.advance(40);

    expect(carrier.received.filter(({ event }) => event === 'clear')).toHaveLength(1);
    expect(fake.session.receivedOf('conversation.item.truncate')).toHaveLength(1);
    const from = carrier.nowMs;
    await clock.advance(2000);
    expect(heardMs(carrier, from)).toBe(0);
    // The call goes on.
    await callerSays(line);
    await clock.advance(3000);
    expect(heardMs(carrier, from)).toBeGreaterThan(900);
    await hangUp(line);
  });

  it.each(['response_cancel_not_active', 'no_active_response_found'])(
    'takes "%s" for what it is',
    async (code) => {
      const line = await placeCall({ turns: () => [say('An answer.', { durationMs: 1000 })] });
      const { carrier, clock, fake } = line;
      fake.session.inject(errorEvent(code) as { type: string });
      await clock.settle();

      await callerSays(line);
      await clock.advance(3000);

      expect(heardMs(carrier)).toBeGreaterThan(900);
      expect(fake.sessions).toHaveLength(1);
      const { counters } = await hangUp(line);
      expect(counters.model_error_benign).toBe(1);
    },
  );

  it('crosses our cancel on the wire, and the next turn is answered', async () => {
    const line = await placeCall({
      model: { latencyMs: 60, timing: { firstOutputMs: 50, speed: 4 } },
      turns: () => [say('An answer.', { durationMs: 1000 })],
    });
    const { carrier, clock, fake } = line;
    await callerSays(line);
    // The response ends on the model's side while the key that interrupts it is on its way.
    await clock.waitFor('the end', () => fake.session.sentOf('response.done').length > 0);
    carrier.dtmf('#');
    await clock.advance(400);
    await clock.advance(3000);

    const from = carrier.nowMs;
    await callerSays(line);
    await clock.advance(3000);
    expect(heardMs(carrier, from)).toBeGreaterThan(900);
    await hangUp(line, ['response_cancel_not_active']);
  });
});
