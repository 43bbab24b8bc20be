import { describe, expect, it } from 'vitest';
import { MAX_OUTSTANDING_MARKS } from '../../src/call/outstanding-marks.ts';
import { MARK_GRACE_MS, MAX_LEDGER_ITEMS, PlaybackLedger } from '../../src/call/playback.ts';

const item = (itemId: string) => ({ itemId, source: 'model', responseId: 'r' }) as const;

function filled(marks: boolean, ms: number): PlaybackLedger {
  const ledger = new PlaybackLedger({ marks });
  ledger.received(item('a'), ms, 0);
  ledger.sent('a', ms, 0);
  return ledger;
}

describe('the playback ledger', () => {
  it('counts by the clock from when the line was idle, not from when audio was generated', () => {
    const ledger = new PlaybackLedger({ marks: false });
    ledger.received(item('a'), 1000, 0);
    ledger.sent('a', 1000, 5000);

    expect(ledger.heardMs('a', 5000)).toBe(0);
    expect(ledger.heardMs('a', 5400)).toBe(400);
    expect(ledger.heardMs('a', 9000)).toBe(1000);
  });

  it('does not count a gap in which nothing was on its way', () => {
    const ledger = filled(false, 200);
    ledger.received(item('a'), 200, 0);
    ledger.sent('a', 200, 1000);

    expect(ledger.heardMs('a', 1100)).toBe(300);
  });

  it('believes a mark more than its clock', () => {
    const ledger = new PlaybackLedger({ marks: true });
    ledger.received(item('a'), 1000, 0);
    ledger.sent('a', 200, 0);
    const mark = ledger.mark(0);
    ledger.sent('a', 800, 0);
    expect(ledger.heardMs('a', 600)).toBe(200);

    ledger.markPlayed(mark!, 700);

    expect(ledger.heardMs('a', 700)).toBe(200);
    expect(ledger.heardMs('a', 800)).toBe(300);
  });

  it('stops waiting for marks on a leg that never returns them', () => {
    const ledger = filled(true, 1000);
    ledger.mark(0);
    expect(ledger.isIdle(900)).toBe(false);

    expect(ledger.isIdle(1000 + MARK_GRACE_MS + 1)).toBe(true);
    expect(ledger.mark(9000)).toBeNull();
  });

  it('never says that more was heard than was received, though the last frame was padded', () => {
    const ledger = new PlaybackLedger({ marks: false });
    ledger.received(item('a'), 13, 0);
    ledger.sent('a', 20, 0);

    const [hearing] = ledger.interrupt(500);

    expect(hearing).toMatchObject({ heardMs: 13, receivedMs: 13 });
  });

  it('gives whole milliseconds', () => {
    const ledger = filled(false, 1000);

    expect(ledger.interrupt(333.7)[0]!.heardMs).toBe(333);
  });

  it('ends what was queued behind the interrupted item as unheard', () => {
    const ledger = filled(false, 500);
    ledger.received(item('b'), 500, 0);
    ledger.sent('b', 500, 0);
    ledger.received(item('c'), 500, 0);

    expect(ledger.interrupt(300).map((each) => [each.itemId, each.heardMs])).toEqual([
      ['a', 300],
      ['b', 0],
      ['c', 0],
    ]);
  });

  it('settles an item once it is complete and heard, and only then', () => {
    const ledger = filled(false, 500);
    expect(ledger.settle(600)).toEqual([]);
    ledger.completed('a');

    expect(ledger.settle(400)).toEqual([]);
    expect(ledger.settle(600)).toMatchObject([{ itemId: 'a', whole: true, heardMs: 500 }]);
    expect(ledger.itemCount).toBe(0);
  });

  it('ignores a late echo of a mark that an interruption took', () => {
    const ledger = filled(true, 1000);
    const mark = ledger.mark(0);
    ledger.interrupt(100);
    ledger.received(item('b'), 400, 200);
    ledger.sent('b', 400, 200);

    ledger.markPlayed(mark!, 250);

    expect(ledger.heardMs('b', 300)).toBe(100);
  });

  it('stays within its bounds for an hour of frames and marks that never come back', () => {
    const ledger = new PlaybackLedger({ marks: true });
    for (let frame = 0; frame < 180_000; frame++) {
      const now = frame * 20;
      const itemId = `i${Math.floor(frame / 50)}`;
      ledger.received(item(itemId), 20, now);
      ledger.sent(itemId, 20, now);
      if (frame % 10 === 0) ledger.mark(now);
      expect(ledger.itemCount).toBeLessThanOrEqual(MAX_LEDGER_ITEMS);
      expect(ledger.outstandingMarks).toBeLessThanOrEqual(MAX_OUTSTANDING_MARKS);
    }
  });
});
