import { beforeAll, describe, expect, it } from 'vitest';
import {
  concatSamples,
  createResampler,
  loadAudio,
  resample,
  type SampleRate,
} from '../../src/audio/index.ts';
import { sine, toneLevelDb } from './signals.ts';

const RATES: readonly SampleRate[] = [8000, 16_000, 24_000, 48_000];
const pairs = RATES.flatMap((from) => RATES.filter((to) => to !== from).map((to) => [from, to] as const));

beforeAll(loadAudio);

describe('a streaming resampler', () => {
  it.each(pairs)('from %i to %i Hz gives the same in odd chunks as in one', (from, to) => {
    const input = sine(440, from, 0.5);
    const whole = createResampler(from, to);
    const expected = concatSamples([whole.process(input), whole.flush()]);
    whole.free();

    const chunked = createResampler(from, to);
    const parts: Int16Array[] = [];
    for (let at = 0, size = 1; at < input.length; at += size, size = (size * 7 + 3) % 401) {
      parts.push(chunked.process(input.subarray(at, at + size)));
    }
    const actual = concatSamples([...parts, chunked.flush()]);
    chunked.free();

    expect(actual).toEqual(expected);
  });

  it.each(pairs)('from %i to %i Hz turns every 20 ms into exactly 20 ms', (from, to) => {
    const resampler = createResampler(from, to);
    const lengths = Array.from({ length: 50 }, () => resampler.process(new Int16Array(from / 50)).length);
    resampler.free();
    expect(new Set(lengths)).toEqual(new Set([to / 50]));
  });

  it.each(pairs.filter(([from, to]) => to < from))(
    'from %i to %i Hz keeps aliases below -60 dB, relative to the tone',
    (from, to) => {
      const tone = to * 0.55; // 1.1 × the new Nyquist frequency: folds back to 0.45 × the new rate
      const output = resample(sine(tone, from, 1, 30_000), from, to);
      const middle = output.subarray(to / 10, output.length - to / 10);
      expect(toneLevelDb(middle, to - tone, to) - 20 * Math.log10(30_000 / 32_768)).toBeLessThan(-60);
    },
  );

  it.each(pairs.filter(([from, to]) => to > from))(
    'from %i to %i Hz keeps images below -60 dB, relative to the tone',
    (from, to) => {
      const output = resample(sine(1000, from, 1, 30_000), from, to);
      const middle = output.subarray(to / 10, output.length - to / 10);
      expect(toneLevelDb(middle, from - 1000, to) - toneLevelDb(middle, 1000, to)).toBeLessThan(-60);
    },
  );

  it.each(pairs)('from %i to %i Hz loses no sample of a recording and keeps it in place', (from, to) => {
    const input = sine(300, from, 1.001);
    const output = resample(input, from, to);
    const expected = sine(300, to, 1.001);
    expect(output.length).toBe(Math.round((input.length * to) / from));
    const at = Math.round(to / 2);
    const middle = [...output.subarray(at, at + 100)];
    const worst = Math.max(...middle.map((sample, i) => Math.abs(sample - expected[at + i]!)));
    expect(worst).toBeLessThan(16_000 * 0.01);
  });

  it('keeps two streams apart', () => {
    const first = createResampler(8000, 16_000);
    const second = createResampler(8000, 16_000);
    first.process(sine(440, 8000, 0.1));
    expect(second.process(new Int16Array(160))).toEqual(new Int16Array(320));
    first.free();
    second.free();
  });

  it('gives its memory back, ten thousand times over', () => {
    for (let i = 0; i < 10_000; i++) createResampler(48_000, 8000).free();
    const last = createResampler(48_000, 8000);
    expect(last.process(new Int16Array(960)).length).toBe(160);
    last.free();
    last.free();
    expect(() => last.process(new Int16Array(1))).toThrow('freed');
  });
});
