import { beforeAll, describe, expect, it } from 'vitest';
import {
  type AudioFormat,
  audioBytes,
  createTranscoder,
  fromSamples,
  loadAudio,
  PCM16_8K,
  PCM16_16K,
  PCM16_24K,
  PCMU_8K,
  toSamples,
} from '../../src/audio/index.ts';
import { sine, toneLevelDb } from './signals.ts';

const PCMA_8K: AudioFormat = { encoding: 'pcma', sampleRate: 8000 };

beforeAll(loadAudio);

describe('a transcoder', () => {
  it('hands on the very same value when the formats are equal', () => {
    const transcoder = createTranscoder(PCMU_8K, { encoding: 'pcmu', sampleRate: 8000 });
    const bytes = new Uint8Array([1, 2, 3]);
    expect(transcoder.process('/v8=')).toBe('/v8=');
    expect(transcoder.process(bytes)).toBe(bytes);
    expect(transcoder.flush()).toHaveLength(0);
  });

  it.each([
    [PCMU_8K, PCM16_16K],
    [PCMU_8K, PCM16_24K],
    [PCMU_8K, PCMA_8K],
    [PCM16_24K, PCMU_8K],
    [PCM16_16K, PCM16_8K],
  ])('turns each 20 ms of %o into 20 ms of %o, with the sound in it', (from, to) => {
    const transcoder = createTranscoder(from, to);
    const chunks: Uint8Array[] = [];
    const input = fromSamples(sine(1000, from.sampleRate, 1), from);
    const step = input.length / 50;
    for (let at = 0; at < input.length; at += step) {
      const base64 = Buffer.from(input.subarray(at, at + step)).toString('base64');
      chunks.push(audioBytes(transcoder.process(base64)));
    }
    transcoder.close();

    const bytes = to.encoding === 'pcm16' ? 2 : 1;
    expect(new Set(chunks.map((chunk) => chunk.length))).toEqual(new Set([(to.sampleRate / 50) * bytes]));
    const output = toSamples(Buffer.concat(chunks), to).subarray(to.sampleRate / 10);
    expect(toneLevelDb(output, 1000, to.sampleRate)).toBeCloseTo(20 * Math.log10(16_000 / 32_768), 0);
  });

  it('joins a sample that was cut in two between chunks', () => {
    const samples = sine(500, 16_000, 0.1);
    const whole = createTranscoder(PCM16_16K, PCMU_8K);
    const cut = createTranscoder(PCM16_16K, PCMU_8K);
    const bytes = fromSamples(samples, PCM16_16K);
    const expected = audioBytes(whole.process(bytes));
    const parts = [bytes.subarray(0, 333), bytes.subarray(333, 334), bytes.subarray(334)];
    expect(Buffer.concat(parts.map((part) => audioBytes(cut.process(part))))).toEqual(Buffer.from(expected));
    whole.close();
    cut.close();
  });
});
