import { describe, expect, it } from 'vitest';
import { shareOfPorts } from '../../src/channel/page-parts.ts';

describe('the UDP ports of workers', () => {
  it('are all of the range, each in one worker', () => {
    for (const [min, max, of] of [
      [40_000, 40_099, 2],
      [40_000, 40_006, 3],
      [5000, 5003, 4],
    ] as const) {
      const shares = Array.from({ length: of }, (_, index) => shareOfPorts({ min, max }, { index, of }));
      expect(shares[0]?.min).toBe(min);
      expect(shares.at(-1)?.max).toBe(max);
      for (const [index, share] of shares.entries()) {
        expect(share.max).toBeGreaterThanOrEqual(share.min ?? 0);
        if (index > 0) expect(share.min).toBe((shares[index - 1]?.max ?? 0) + 1);
      }
    }
  });

  it('are any free ones where the config names none', () => {
    expect(shareOfPorts({}, { index: 1, of: 2 })).toEqual({});
  });
});
