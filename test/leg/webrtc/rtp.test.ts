import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isRtcp, parseRtp, writeRtp } from '../../../src/leg/webrtc/rtp.ts';

const uint8 = fc.integer({ min: 0, max: 0xff });
const word = fc.integer({ min: 0, max: 0xffffffff });
const shape = fc.record({
  payloadType: fc.integer({ min: 0, max: 127 }),
  marker: fc.boolean(),
  sequence: fc.integer({ min: 0, max: 0xffff }),
  timestamp: word,
  ssrc: word,
  payload: fc.uint8Array({ maxLength: 200 }),
  sources: fc.array(word, { maxLength: 15 }),
  extension: fc.option(
    fc.record({ profile: fc.integer({ min: 0, max: 0xffff }), words: fc.array(word, { maxLength: 20 }) }),
  ),
  padding: fc.integer({ min: 0, max: 255 }),
  paddingBytes: uint8,
});

/** A packet with everything that a header may have, by the picture in RFC 3550. */
function build(p: typeof shape extends fc.Arbitrary<infer T> ? T : never): Buffer {
  const head = Buffer.alloc(12);
  head[0] = 0x80 | (p.padding > 0 ? 0x20 : 0) | (p.extension ? 0x10 : 0) | p.sources.length;
  head[1] = (p.marker ? 0x80 : 0) | p.payloadType;
  head.writeUInt16BE(p.sequence, 2);
  head.writeUInt32BE(p.timestamp, 4);
  head.writeUInt32BE(p.ssrc, 8);
  const words = (list: readonly number[]) => {
    const bytes = Buffer.alloc(list.length * 4);
    for (const [n, each] of list.entries()) bytes.writeUInt32BE(each, n * 4);
    return bytes;
  };
  const extension = p.extension
    ? Buffer.concat([
        Buffer.from([p.extension.profile >> 8, p.extension.profile & 0xff, 0, p.extension.words.length]),
        words(p.extension.words),
      ])
    : Buffer.alloc(0);
  const padding = Buffer.alloc(p.padding, p.paddingBytes);
  if (p.padding > 0) padding[p.padding - 1] = p.padding;
  return Buffer.concat([head, words(p.sources), extension, p.payload, padding]);
}

describe('an RTP packet', () => {
  it('gives back what was put in, whatever sources, extension and padding are around it', () => {
    fc.assert(
      fc.property(shape, (p) => {
        const { payloadType, marker, sequence, timestamp, ssrc, payload } = p;
        expect(parseRtp(build(p))).toEqual({
          payloadType,
          marker,
          sequence,
          timestamp,
          ssrc,
          payload: Buffer.from(payload),
        });
      }),
    );
  });

  it('that we write is one', () => {
    fc.assert(
      fc.property(shape, ({ payloadType, marker, sequence, timestamp, ssrc, payload }) => {
        const packet = { payloadType, marker, sequence, timestamp, ssrc, payload: Buffer.from(payload) };
        expect(parseRtp(writeRtp(packet))).toEqual(packet);
      }),
    );
  });

  it('made of any bytes never throws, and its payload lies inside it', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
        const packet = parseRtp(bytes);
        if (!packet) return;
        expect(packet.payload.byteOffset + packet.payload.byteLength).toBeLessThanOrEqual(
          bytes.byteOffset + bytes.byteLength,
        );
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ['another version', [0x40]],
    ['more sources than bytes', [0x8f]],
    ['an extension behind the end', [0x90]],
    ['padding of no length', [0xa0]],
  ])('with %s is none', (_name, [first]) => {
    const bytes = Buffer.alloc(14);
    bytes[0] = first!;
    expect(parseRtp(bytes)).toBeNull();
  });

  it('with more padding than bytes is none', () => {
    const bytes = Buffer.alloc(14, 0xff);
    bytes[0] = 0xa0;
    expect(parseRtp(bytes)).toBeNull();
  });

  it('is told from RTCP by its second byte', () => {
    expect([200, 201, 205].map((type) => isRtcp(Uint8Array.of(0x80, type)))).toEqual([true, true, true]);
    expect([96, 111, 0x80 | 111].map((type) => isRtcp(Uint8Array.of(0x80, type)))).toEqual([
      false,
      false,
      false,
    ]);
  });
});
