import { describe, expect, it } from 'vitest';
import { concatSamples, OpusDecoder, OpusEncoder } from '../../src/audio/index.ts';
import { rms, sine, toneLevelDb } from './signals.ts';

function frames(samples: Int16Array, size: number): Int16Array[] {
  return Array.from({ length: Math.floor(samples.length / size) }, (_, i) =>
    samples.slice(i * size, (i + 1) * size),
  );
}

/** A vowel-like sound whose pitch moves, so that FEC (which codes speech) has something to carry. */
function voice(sampleRate: number, seconds: number): Int16Array {
  return Int16Array.from({ length: sampleRate * seconds }, (_, i) => {
    const t = i / sampleRate;
    const phase = 2 * Math.PI * (140 * t + 6 * Math.sin(2 * Math.PI * 1.5 * t));
    let sum = 0;
    for (let k = 1; k <= 12; k++) sum += Math.cos(k * phase) / k;
    return Math.round(5000 * sum * (0.7 + 0.3 * Math.sin(2 * Math.PI * 3 * t)));
  });
}

function snrDb(reference: Int16Array, actual: Int16Array): number {
  const noise = reference.map((sample, i) => sample - actual[i]!);
  return 20 * Math.log10(rms(reference) / rms(noise));
}

describe('Opus', () => {
  it('carries 24 kHz frames to a 16 kHz decoder', () => {
    const encoder = new OpusEncoder({ sampleRate: 24_000, complexity: 5 });
    const decoder = new OpusDecoder(16_000);
    const packets = frames(sine(1000, 24_000, 1), 480).map((frame) => encoder.encode(frame));
    const output = concatSamples(packets.map((packet) => decoder.decode(packet)));
    encoder.free();
    decoder.free();

    expect(output.length).toBe(16_000);
    expect(Math.max(...packets.map((packet) => packet.length))).toBeLessThan(200);
    expect(toneLevelDb(output.subarray(3200), 1000, 16_000)).toBeCloseTo(20 * Math.log10(16_000 / 32_768), 0);
  });

  it('conceals a lost packet with sound, not with silence', () => {
    const encoder = new OpusEncoder({ sampleRate: 24_000 });
    const decoder = new OpusDecoder(24_000);
    for (const frame of frames(sine(300, 24_000, 0.4), 480)) decoder.decode(encoder.encode(frame));
    const concealed = decoder.conceal(20);
    encoder.free();
    decoder.free();

    expect(concealed.length).toBe(480);
    expect(rms(concealed)).toBeGreaterThan(4000);
  });

  it('recovers a lost frame from the next packet better than concealment can', () => {
    const encoder = new OpusEncoder({
      sampleRate: 24_000,
      fec: true,
      expectedLossPercent: 25,
      bitrate: 32_000,
    });
    const packets = frames(voice(24_000, 2), 480).map((frame) => encoder.encode(frame));
    encoder.free();
    const play = (lost: (decoder: OpusDecoder, next: Uint8Array) => Int16Array) => {
      const decoder = new OpusDecoder(24_000);
      const parts = packets.map((packet, i) =>
        i % 10 === 5 && i + 1 < packets.length ? lost(decoder, packets[i + 1]!) : decoder.decode(packet),
      );
      decoder.free();
      return parts;
    };
    const decoder = new OpusDecoder(24_000);
    const perfect = packets.map((packet) => decoder.decode(packet));
    decoder.free();
    const onlyLost = (parts: Int16Array[]) => concatSamples(parts.filter((_, i) => i % 10 === 5 && i > 10));

    const concealed = play((each) => each.conceal(20));
    const recovered = play((each, next) => each.recover(next, 20));
    const reference = onlyLost(perfect);
    expect(snrDb(reference, onlyLost(recovered))).toBeGreaterThan(snrDb(reference, onlyLost(concealed)) + 2);
  });

  it('runs two thousand encoders and decoders in one process, each with its own state', () => {
    const encoders = Array.from(
      { length: 2000 },
      () => new OpusEncoder({ sampleRate: 24_000, complexity: 0 }),
    );
    const decoders = Array.from({ length: 2000 }, () => new OpusDecoder(24_000));
    const tone = frames(sine(440, 24_000, 0.1), 480);
    const played = (i: number) =>
      concatSamples(tone.map((frame) => decoders[i]!.decode(encoders[i]!.encode(frame))));
    const first = played(0);
    for (const i of [1, 78, 79, 80, 500, 1999]) expect(played(i)).toEqual(first);
    for (const each of [...encoders, ...decoders]) each.free();
  });

  it('gives its memory back, so that twenty thousand calls fit one after another', () => {
    for (let i = 0; i < 20_000; i++) {
      new OpusDecoder(16_000).free();
      if (i % 10 === 0) new OpusEncoder({ sampleRate: 24_000 }).free();
    }
    const decoder = new OpusDecoder(16_000);
    expect(decoder.conceal(20).length).toBe(320);
    decoder.free();
  });

  it('throws for what is no packet and for a frame of the wrong length, and goes on', () => {
    const encoder = new OpusEncoder({ sampleRate: 24_000 });
    const decoder = new OpusDecoder(24_000);
    expect(() => decoder.decode(new Uint8Array([0xff, 0xff, 0xff]))).toThrow(/Opus/);
    expect(() => decoder.decode(new Uint8Array(5000))).toThrow(/Opus/);
    expect(() => encoder.encode(new Int16Array(481))).toThrow(/Opus/);
    expect(decoder.decode(encoder.encode(new Int16Array(480))).length).toBe(480);
    encoder.free();
    decoder.free();
    expect(() => decoder.conceal(20)).toThrow('freed');
    expect(() => encoder.encode(new Int16Array(480))).toThrow('freed');
  });
});
