// Elsewhere: a result that came back after the model's session had been replaced was sent as the output of a call that
// the new session had never made, and was refused; the caller never heard of it.

import { describe, expect, it } from 'vitest';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 36: a result that comes back after a reconnect', () => {
  it.each([2000, 4600, 4980])(
    '(drop at %i ms of 5 s) is told as a fact, exactly once, and heard',
    async (dropMs) => {
      const line = await placeCall({
        tools: { send_email: { latencyMs: 5000, outcome: 'sent to Ada' } },
        hears: ['send it'],
        turns: ({ heard, conversation }) => {
          if (heard === 'send it') return [call('send_email')];
          const knows = JSON.stringify(conversation).includes('sent to Ada');
          return knows
            ? [say('It is sent.', { durationMs: 900 })]
            : [say('One moment.', { durationMs: 300 })];
        },
        config: { limits: { fillerAfterMs: 60_000 } },
      });
      const { carrier, clock, fake, gateway } = line;
      await callerSays(line);
      await clock.waitFor('the tool', () => gateway.calls.length === 1);
      await clock.advance(dropMs);
      const [old] = fake.sessions;
      fake.session.reset();
      const from = carrier.nowMs;
      await clock.advance(12_000);

      expect(fake.sessions).toHaveLength(2);
      const items = fake.session.receivedOf('conversation.item.create').map(({ item }) => item);
      expect(items.filter((item) => item.type === 'function_call_output')).toEqual([]);
      expect(items.filter((item) => JSON.stringify(item).includes('sent to Ada'))).toHaveLength(1);
      expect(JSON.stringify(old!.received)).not.toContain('sent to Ada');
      expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(880);
      expect(gateway.calls).toHaveLength(1);
      await hangUp(line);
    },
  );

  it('and so are keys that were pressed while there was no session', async () => {
    const line = await placeCall({ turns: () => [say('Noted.', { durationMs: 900 })] });
    const { carrier, clock, fake } = line;
    await clock.advance(1000);
    fake.session.reset();
    await clock.advance(50);
    for (const key of '42#') carrier.dtmf(key);
    await clock.advance(6000);

    expect(fake.sessions).toHaveLength(2);
    const told = fake.session.receivedOf('conversation.item.create').map(({ item }) => JSON.stringify(item));
    expect(told.filter((text) => text.includes('42'))).toHaveLength(1);
    expect(fake.session.receivedOf('response.create')).toHaveLength(1);
    expect(heardMs(carrier)).toBeGreaterThanOrEqual(880);
    await hangUp(line);
  });
});
