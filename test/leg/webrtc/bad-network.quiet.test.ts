import { describe, expect, it } from 'vitest';
import { badManners, runNetwork } from './bad-network.ts';

describe('speech through a network that loses 5 % and delays by 0 to 60 ms', { timeout: 60_000 }, () => {
  it('comes through both ways: nearly all of it as loud as it was, no hole in it', async () => {
    const run = await runNetwork(8, (count) => badManners(0.05, 60, 7, count));

    for (const way of [run.in, run.out]) {
      const { counters, listening } = way;
      // Lost packets are lost, and hardly any other is.
      expect(counters.missing + counters.late).toBeLessThan(counters.received * 0.1);
      expect(counters.late).toBeLessThan(counters.received * 0.02);
      expect(way.waitMs).toBeLessThanOrEqual(200);
      expect(listening.envelopeCorrelation).toBeGreaterThan(0.9);
      expect(listening.intactShare).toBeGreaterThan(0.85);
      expect(listening.gapsMs).toEqual([]);
      // The copies in the packets are used.
      expect(counters.recoveredMs).toBeGreaterThan(counters.missing * 20 * 0.3);
    }
  });
});
