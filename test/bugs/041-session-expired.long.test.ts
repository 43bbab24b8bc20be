// As 041, with the provider's real limit: an hour.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 41: a call that is longer than the provider’s hour', () => {
  it('goes on through it, and each minute’s question is answered', async () => {
    const line = await placeCall({
      config: { greeting: 'Hello.', limits: { maxCallS: 7200, silenceTimeoutS: 3600 } },
      turns: () => [say('An answer.', { durationMs: 1000 })],
    });
    const { carrier, clock, fake } = line;
    await clock.advance(5000);
    for (let minute = 1; minute <= 70; minute += 1) {
      await clock.advance(minute * 60_000 - clock.now());
      const from = carrier.nowMs;
      await callerSays(line);
      await clock.advance(4000);
      expect(heardMs(carrier, from), `minute ${minute}`).toBeGreaterThanOrEqual(980);
    }
    expect(fake.sessions).toHaveLength(2);
    const expired = fake.sessions.flatMap((session) => session.sentOf('error'));
    expect(expired).toEqual([]);
    await hangUp(line);
  });
});
