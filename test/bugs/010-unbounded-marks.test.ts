// Elsewhere: one pending mark for each piece of audio was kept for ever when the other side never returned any; and the
// next response waited for ever until all were back.

import { describe, expect, it } from 'vitest';
import { MAX_OUTSTANDING_MARKS } from '../../src/call/outstanding-marks.ts';
import { PlaybackLedger } from '../../src/call/playback.ts';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall, withoutMarks } from './line.ts';

describe('bug 10: a carrier that never returns a mark', () => {
  it('leaves a small ledger after an hour of 20 ms pieces', () => {
    const ledger = new PlaybackLedger({ marks: true });
    let mostMarks = 0;
    let mostItems = 0;
    for (let frame = 0; frame < 180_000; frame += 1) {
      const now = frame * 20;
      const itemId = `item_${Math.floor(frame / 500)}`;
      ledger.received({ itemId, source: 'model', responseId: itemId }, 20, now);
      ledger.sent(itemId, 20, now);
      ledger.mark(now);
      if (frame % 500 === 499) ledger.completed(itemId);
      ledger.settle(now);
      mostMarks = Math.max(mostMarks, ledger.outstandingMarks);
      mostItems = Math.max(mostItems, ledger.itemCount);
    }
    expect(mostMarks).toBeLessThanOrEqual(MAX_OUTSTANDING_MARKS);
    expect(mostItems).toBeLessThanOrEqual(MAX_OUTSTANDING_MARKS);
  });

  it('gets no more marks once it has shown that, and hears every answer all the same', async () => {
    const line = await placeCall({
      carrierWire: withoutMarks,
      turns: () => [say('An answer.', { durationMs: 3000 })],
    });
    const { carrier, clock, fake } = line;
    for (let turn = 0; turn < 12; turn += 1) {
      const from = carrier.nowMs;
      await callerSays(line);
      await clock.advance(6000);
      expect(heardMs(carrier, from), `turn ${turn}`).toBeGreaterThanOrEqual(2900);
    }
    const marks = carrier.received.filter(({ event }) => event === 'mark');
    expect(marks.length).toBeLessThanOrEqual(MAX_OUTSTANDING_MARKS);
    expect(fake.session.sentOf('response.created')).toHaveLength(12);
    await hangUp(line);
  });

  it('is hung up after the goodbye, not never', async () => {
    const line = await placeCall({
      carrierWire: withoutMarks,
      turns: ({ toolOutputs }) =>
        toolOutputs.length > 0 ? [] : [say('Goodbye, then.', { durationMs: 1500 }), call('end_call')],
    });
    const { carrier, clock, ended } = line;
    await callerSays(line);
    await clock.advance(15_000);

    expect(ended).toMatchObject([{ reason: 'agent_hangup' }]);
    expect(heardMs(carrier)).toBeGreaterThanOrEqual(1400);
  });
});
