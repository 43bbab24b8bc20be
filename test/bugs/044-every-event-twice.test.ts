// Elsewhere: handlers were added again with every reconnect, so that after one everything happened twice.

import { describe, expect, it } from 'vitest';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 44: ten reconnects', () => {
  it('leave as many listeners as one, and everything still happens once', async () => {
    const line = await placeCall({
      tools: { send_email: { latencyMs: 200, outcome: 'sent' } },
      turns: ({ heard, toolOutputs }) => {
        if (toolOutputs.length > 0) return [say('Sent.', { durationMs: 700 })];
        return heard === null ? [] : [call('send_email')];
      },
      config: { limits: { silenceTimeoutS: 3600 } },
    });
    const { carrier, clock, fake, gateway, legs } = line;
    await clock.advance(1000);
    const listeners = legs[0]!.listenerCount();
    const timers = clock.pendingTimers;
    for (let n = 0; n < 10; n += 1) {
      await clock.advance(31_000);
      fake.session.reset();
      await clock.advance(2000);
    }
    expect(fake.sessions).toHaveLength(11);
    expect(legs[0]!.listenerCount()).toBe(listeners);
    expect(clock.pendingTimers).toBe(timers);

    const from = carrier.nowMs;
    const inputBefore = fake.session.inputMs;
    await callerSays(line);
    await clock.advance(4000);

    expect(gateway.calls).toHaveLength(1);
    expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(680);
    expect(heardMs(carrier, from)).toBeLessThanOrEqual(720);
    // Each frame of the caller's went to the model once.
    expect(Math.abs(fake.session.inputMs - inputBefore - (carrier.nowMs - from))).toBeLessThanOrEqual(20);
    const turns = [...line.store.turns.values()].filter(
      (turn) => turn.userText !== null && turn.userText !== '',
    );
    expect(turns).toHaveLength(1);
    await hangUp(line);
  });
});
