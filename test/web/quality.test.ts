import { describe, expect, it } from 'vitest';
import {
  between,
  type LineCounters,
  type LineNumbers,
  LOOKS_TO_CHANGE,
  NO_NUMBERS,
  QUALITY_LIMITS,
  qualityWord,
  SteadyWord,
} from '../../web/talk/quality.ts';

const counters = (change: Partial<LineCounters> = {}): LineCounters => ({
  packetsReceived: 1000,
  packetsLost: 10,
  samplesReceived: 960_000,
  concealedSamples: 4800,
  silentConcealedSamples: 4000,
  bufferDelayS: 100,
  bufferEmitted: 1_000_000,
  roundTripS: 0.04,
  ...change,
});

describe('the word for a connection', () => {
  it('is the worst that any number says, and nothing while no number is known', () => {
    expect(qualityWord(NO_NUMBERS)).toBeNull();
    expect(qualityWord({ ...NO_NUMBERS, roundTripMs: 20 })).toBe('good');
    for (const name of Object.keys(QUALITY_LIMITS) as (keyof LineNumbers)[]) {
      const [fair, poor] = QUALITY_LIMITS[name];
      expect(qualityWord({ ...NO_NUMBERS, lossInPercent: 0, [name]: fair }), name).toBe('fair');
      expect(qualityWord({ ...NO_NUMBERS, lossInPercent: 0, [name]: poor }), name).toBe('poor');
    }
  });

  it('does not change for a moment’s trouble, and does for one that lasts', () => {
    const word = new SteadyWord();
    word.look('good');
    const looks = Array.from({ length: LOOKS_TO_CHANGE }, () => word.look('poor'));

    expect(looks.slice(0, -1).every((shown) => shown === 'good')).toBe(true);
    expect(looks.at(-1)).toBe('poor');
    word.look('good');
    word.look('poor');
    expect(word.look('good')).toBe('poor');
  });
});

describe('what happened between two looks', () => {
  it('is counted in percent of these seconds only', () => {
    const after = counters({
      packetsReceived: 1098,
      packetsLost: 12,
      samplesReceived: 1_056_000,
      concealedSamples: 4800 + 2880,
      silentConcealedSamples: 4960,
      bufferDelayS: 100 + 0.06 * 96_000,
      bufferEmitted: 1_096_000,
    });

    expect(between(counters(), after)).toEqual({
      lossInPercent: 2,
      // 1,920 of 96,000; what was filled into silence can't be heard.
      concealedPercent: 2,
      bufferMs: expect.closeTo(60),
      roundTripMs: 40,
    });
  });

  it('is nothing for a first look, for a new connection and for a line where nothing came', () => {
    const none = { lossInPercent: null, concealedPercent: null, bufferMs: null, roundTripMs: 40 };

    expect(between(null, counters())).toEqual(none);
    expect(between(counters(), counters({ packetsReceived: 5 }))).toEqual(none);
    expect(between(counters(), counters())).toEqual(none);
  });
});
