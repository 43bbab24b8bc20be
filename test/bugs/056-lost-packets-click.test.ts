// Elsewhere: nothing was put in the place of lost packets, and 5 % of loss were clicks.

import { describe, expect, it } from 'vitest';
import { concatSamples, OpusDecoder, OpusEncoder } from '../../src/audio/index.ts';
import { rms, sine } from '../audio/signals.ts';

const FRAME = 480;
const packetsOf = (samples: Int16Array, fec = false) => {
  const encoder = new OpusEncoder({
    sampleRate: 24_000,
    fec,
    expectedLossPercent: fec ? 10 : 0,
    bitrate: 32_000,
  });
  const packets = Array.from({ length: Math.floor(samples.length / FRAME) }, (_, n) =>
    encoder.encode(samples.slice(n * FRAME, (n + 1) * FRAME)),
  );
  encoder.free();
  return packets;
};

describe('bug 56: every twentieth packet lost', () => {
  it.each(['conceal', 'recover'] as const)('(%s) keeps every sample and leaves no hole', (how) => {
    const packets = packetsOf(sine(300, 24_000, 4), how === 'recover');
    const decoder = new OpusDecoder(24_000);
    const parts: Int16Array[] = [];
    const holes: Int16Array[] = [];
    packets.forEach((packet, n) => {
      if (n % 20 === 11) {
        // The packet before this one never came.
        holes.push(how === 'recover' ? decoder.recover(packet, 20) : decoder.conceal(20));
        parts.push(holes.at(-1)!);
      }
      if (n % 20 !== 10) parts.push(decoder.decode(packet));
    });
    decoder.free();

    expect(concatSamples(parts).length).toBe(packets.length * FRAME);
    expect(holes).toHaveLength(10);
    for (const hole of holes) expect(rms(hole)).toBeGreaterThan(3000);
  });
});
