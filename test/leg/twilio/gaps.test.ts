import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { GapFiller, MAX_GAP_FILL_MS, STALL_MS, STALL_STEP_MS } from '../../../src/leg/twilio/index.ts';

describe('the gap filler', () => {
  it('fills nothing while frames come without a gap', () => {
    const gaps = new GapFiller();
    const filled = Array.from({ length: 50 }, (_, i) => gaps.onMedia(5 + i * 20, 20, i * 20));
    expect(filled.every((frames) => frames === 0)).toBe(true);
  });

  it('fills what the timestamps say is missing', () => {
    const gaps = new GapFiller();
    gaps.onMedia(0, 20, 0);
    expect(gaps.onMedia(100, 20, 100)).toBe(4);
    expect(gaps.onMedia(120, 20, 120)).toBe(0);
  });

  it('fills by the clock when frames stop, starting only once it is no jitter any more', () => {
    const gaps = new GapFiller();
    gaps.onMedia(0, 20, 0);
    expect(gaps.onTick(STALL_MS - 1)).toEqual({ frames: 0, nextInMs: 1 });
    expect(gaps.onTick(STALL_MS)).toEqual({ frames: STALL_MS / 20, nextInMs: STALL_STEP_MS });
    expect(gaps.onTick(STALL_MS + 100).frames).toBe(5);
  });

  it('does not fill twice what the clock has filled when the timestamps show the same gap', () => {
    const gaps = new GapFiller();
    gaps.onMedia(0, 20, 0);
    gaps.onTick(400);
    expect(gaps.onMedia(420, 20, 420)).toBe(0);
  });

  it('keeps speech that was only late, and is in step again afterwards', () => {
    const gaps = new GapFiller();
    gaps.onMedia(0, 20, 0);
    gaps.onTick(400);
    const burst = Array.from({ length: 20 }, (_, i) => gaps.onMedia(20 + i * 20, 20, 420));
    expect(burst.every((frames) => frames === 0)).toBe(true);
    expect(gaps.onMedia(520, 20, 520)).toBe(5);
  });

  it('stops after the bound, and starts again after the next frame', () => {
    const gaps = new GapFiller();
    gaps.onMedia(0, 20, 0);
    let frames = 0;
    for (let now = 0; now <= 60_000; now += 100) frames += gaps.onTick(now).frames;
    expect(frames * 20).toBe(MAX_GAP_FILL_MS);
    expect(gaps.onMedia(60_000, 20, 60_000)).toBe(0);
    expect(gaps.onTick(60_400).frames).toBe(20);
  });

  it('uses the clock alone when Twilio sends no timestamps', () => {
    const gaps = new GapFiller();
    gaps.onMedia(null, 20, 0);
    expect(gaps.onMedia(null, 20, 20)).toBe(0);
    expect(gaps.onTick(420).frames).toBe(20);
  });

  it('never fills more than the bound for one gap, nor less than zero, whatever the timestamps', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.integer({ min: 0, max: 1e9 }), fc.nat(5000)), { maxLength: 50 }),
        (steps) => {
          const gaps = new GapFiller();
          let now = 0;
          for (const [timestamp, wait] of steps) {
            now += wait;
            const byClock = gaps.onTick(now).frames;
            const byTimestamp = gaps.onMedia(timestamp, 20, now);
            expect(byClock).toBeGreaterThanOrEqual(0);
            expect(byTimestamp).toBeGreaterThanOrEqual(0);
            expect((byClock + byTimestamp) * 20).toBeLessThanOrEqual(MAX_GAP_FILL_MS);
          }
        },
      ),
    );
  });
});
