// Elsewhere: a response that stalled for more than 15 s left the "active" flag set, or nobody looked at it: the next
// request collided, and the call was stuck.

import { describe, expect, it } from 'vitest';
import { say, stall } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 17: a response that stalls for 20 s', () => {
  it.each([
    ['before its first audio', 0],
    ['in the middle of a sentence', 800],
  ])('%s is cancelled once, covered by words, and the next turn is answered', async (_, ms) => {
    const line = await placeCall({
      turns: ({ index }) =>
        index === 0
          ? [...(ms > 0 ? [say('I was about to', { durationMs: ms })] : []), stall()]
          : [say('Here I am again.', { durationMs: 1000 })],
    });
    const { carrier, clock, fake } = line;
    await callerSays(line);
    await clock.waitFor('the response', () => fake.session.sentOf('response.created').length === 1);
    const from = carrier.nowMs + 5000;
    await clock.advance(20_000);

    expect(fake.session.receivedOf('response.cancel')).toHaveLength(1);
    expect(fake.session.activeResponseId).toBeNull();
    // Something is said for it.
    expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(380);
    const answered = carrier.nowMs;
    await callerSays(line);
    await clock.advance(3000);

    expect(heardMs(carrier, answered)).toBeGreaterThanOrEqual(980);
    expect(fake.session.sentOf('response.created')).toHaveLength(2);
    const { counters } = await hangUp(line);
    expect(counters.fault_response_stalled).toBe(1);
  });

  it('whose caller speaks before the deadman wakes is interrupted like any other', async () => {
    const line = await placeCall({
      turns: ({ index }) => (index === 0 ? [stall()] : [say('Here I am.', { durationMs: 1000 })]),
    });
    const { carrier, clock, fake } = line;
    await callerSays(line);
    await clock.waitFor('the response', () => fake.session.sentOf('response.created').length === 1);
    await clock.advance(8000);
    const from = carrier.nowMs;
    await callerSays(line);
    await clock.advance(3000);

    expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(980);
    await hangUp(line);
  });

  it('whose audio comes after all, once it was given up, is not heard', async () => {
    const line = await placeCall({ turns: ({ index }) => (index === 0 ? [stall()] : [say('Yes.')]) });
    const { carrier, clock, fake } = line;
    await callerSays(line);
    await clock.waitFor('the response', () => fake.session.activeResponseId !== null);
    const response_id = fake.session.activeResponseId;
    await clock.advance(18_000);
    const from = carrier.nowMs;

    for (let n = 0; n < 10; n += 1)
      fake.session.inject({
        type: 'response.output_audio.delta',
        response_id,
        item_id: 'item_late',
        output_index: 0,
        content_index: 0,
        delta: Buffer.alloc(1600, 0x10).toString('base64'),
      } as { type: string });
    await clock.advance(2000);

    expect(heardMs(carrier, from)).toBe(0);
    await hangUp(line);
  });
});
