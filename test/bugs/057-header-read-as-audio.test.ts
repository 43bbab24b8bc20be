// Elsewhere: the header extension and padding of RTP were "skipped" by looking for zeros; decoders were fed what was left.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { concatSamples, OpusEncoder, pcm16ToSamples } from '../../src/audio/index.ts';
import { AudioReceiver } from '../../src/leg/webrtc/receiver.ts';
import { sine } from '../audio/signals.ts';

const encoder = new OpusEncoder({ sampleRate: 24_000 });
const PAYLOADS = Array.from({ length: 10 }, (_, n) =>
  encoder.encode(sine(440, 24_000, 0.2).slice(n * 480, (n + 1) * 480)),
);
encoder.free();

interface Around {
  readonly sources: number;
  /** Words of the extension, `null` for none; zeros and ones are what a skipper of zeros trips over. */
  readonly extension: readonly number[] | null;
  readonly padding: number;
}

function packet(n: number, payload: Uint8Array, { sources, extension, padding }: Around): Buffer {
  const header = Buffer.alloc(12 + sources * 4 + (extension ? 4 + extension.length * 4 : 0));
  header[0] = 0x80 | (padding > 0 ? 0x20 : 0) | (extension ? 0x10 : 0) | sources;
  header[1] = 111;
  header.writeUInt16BE(n, 2);
  header.writeUInt32BE(n * 960, 4);
  header.writeUInt32BE(7, 8);
  if (extension) {
    header.writeUInt16BE(0xbede, 12 + sources * 4);
    header.writeUInt16BE(extension.length, 14 + sources * 4);
    for (const [at, word] of extension.entries()) header.writeUInt32BE(word, 16 + sources * 4 + at * 4);
  }
  const tail = Buffer.alloc(padding);
  if (padding > 0) tail[padding - 1] = padding;
  return Buffer.concat([header, payload, tail]);
}

function heard(packets: readonly Buffer[]): Int16Array {
  const parts: Int16Array[] = [];
  const receiver = new AudioReceiver({
    payloadType: 111,
    sampleRate: 24_000,
    onAudio: (pcm) => parts.push(pcm16ToSamples(pcm)),
  });
  for (const [n, each] of packets.entries()) receiver.receive(each, n * 20);
  expect(receiver.counters().invalid).toBe(0);
  receiver.close();
  return concatSamples(parts);
}

describe('bug 57: what is around the sound in a packet', () => {
  const around = fc.record({
    sources: fc.nat(15),
    extension: fc.option(
      fc.array(fc.constantFrom(0, 1, 0x1000_0000, 0xffff_ffff, 0xbede_0001), { maxLength: 8 }),
    ),
    padding: fc.nat(255),
  });
  const plain = heard(
    PAYLOADS.map((payload, n) => packet(n, payload, { sources: 0, extension: null, padding: 0 })),
  );

  it('changes nothing of it', () => {
    fc.assert(
      fc.property(fc.array(around, { minLength: 10, maxLength: 10 }), (arounds) => {
        expect(heard(PAYLOADS.map((payload, n) => packet(n, payload, arounds[n]!)))).toEqual(plain);
      }),
    );
  });
});
