// Elsewhere: one Opus decoder was shared by everybody who spoke, and each garbled the other.

import { describe, expect, it } from 'vitest';
import { concatSamples, OpusDecoder, OpusEncoder } from '../../src/audio/index.ts';
import { sine, toneLevelDb } from '../audio/signals.ts';

const FRAME = 480;
const packetsOf = (samples: Int16Array) => {
  const encoder = new OpusEncoder({ sampleRate: 24_000, bitrate: 32_000 });
  const packets = Array.from({ length: Math.floor(samples.length / FRAME) }, (_, n) =>
    encoder.encode(samples.slice(n * FRAME, (n + 1) * FRAME)),
  );
  encoder.free();
  return packets;
};

describe('bug 55: two who speak at once', () => {
  it('each have a decoder with a memory of its own', () => {
    const low = packetsOf(sine(300, 24_000, 2));
    const high = packetsOf(sine(2000, 24_000, 2));
    const [a, b] = [new OpusDecoder(24_000), new OpusDecoder(24_000)];
    const heard = { a: [] as Int16Array[], b: [] as Int16Array[] };
    for (let n = 0; n < low.length; n += 1) {
      heard.a.push(a.decode(low[n]!));
      heard.b.push(b.decode(high[n]!));
    }
    a.free();
    b.free();

    const alone = new OpusDecoder(24_000);
    const expected = concatSamples(low.map((packet) => alone.decode(packet)));
    alone.free();
    expect(concatSamples(heard.a)).toEqual(expected);
    const other = concatSamples(heard.b).subarray(4800);
    expect(toneLevelDb(other, 2000, 24_000) - toneLevelDb(other, 300, 24_000)).toBeGreaterThan(30);
  });

  it('are deaf once freed, and say so', () => {
    const decoder = new OpusDecoder(24_000);
    decoder.free();
    decoder.free();
    expect(() => decoder.decode(new Uint8Array(3))).toThrow(/freed/);
  });
});
