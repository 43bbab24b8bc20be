import { describe, expect, it } from 'vitest';
import { decodeG711, encodeG711, PCMA_SILENCE, PCMU_SILENCE } from '../../src/audio/index.ts';

// The formulas of ITU-T G.191's G.711 module, written out; the tables under test are filled another way.
function muLawEncode(sample: number): number {
  let magnitude = (sample < 0 ? ~sample >> 2 : sample >> 2) + 33;
  if (magnitude > 0x1fff) magnitude = 0x1fff;
  let segment = 1;
  for (let rest = magnitude >> 6; rest !== 0; rest >>= 1) segment++;
  const high = 8 - segment;
  const low = 15 - ((magnitude >> segment) & 15);
  return (high << 4) | low | (sample >= 0 ? 0x80 : 0);
}

function aLawEncode(sample: number): number {
  let value = sample < 0 ? ~sample >> 4 : sample >> 4;
  if (value > 15) {
    let exponent = 1;
    while (value > 31) {
      value >>= 1;
      exponent++;
    }
    value = value - 16 + (exponent << 4);
  }
  return (value | (sample >= 0 ? 0x80 : 0)) ^ 0x55;
}

function muLawDecode(code: number): number {
  const sign = code < 0x80 ? -1 : 1;
  const exponent = (~code >> 4) & 7;
  const step = 4 << (exponent + 1);
  return sign * ((0x80 << exponent) + step * (~code & 15) + step / 2 - 4 * 33);
}

function aLawDecode(code: number): number {
  const plain = (code ^ 0x55) & 0x7f;
  const exponent = plain >> 4;
  let mantissa = plain & 15;
  if (exponent > 0) mantissa += 16;
  mantissa = (mantissa << 4) + 8;
  if (exponent > 1) mantissa <<= exponent - 1;
  return code > 127 ? mantissa : -mantissa;
}

const everySample = Int16Array.from({ length: 65536 }, (_, i) => i - 32768);
const everyCode = Uint8Array.from({ length: 256 }, (_, i) => i);

describe('G.711', () => {
  it.each([
    ['pcmu', muLawEncode],
    ['pcma', aLawEncode],
  ] as const)('encodes all 65,536 inputs to %s as the ITU formula does', (law, formula) => {
    const encoded = encodeG711(everySample, law);
    const wrong = [...everySample].filter((sample, i) => encoded[i] !== formula(sample));
    expect(wrong).toEqual([]);
  });

  it.each([
    ['pcmu', muLawDecode],
    ['pcma', aLawDecode],
  ] as const)('decodes all 256 codes of %s as the ITU formula does', (law, formula) => {
    // `+ 0` folds the formula's negative zero into zero.
    expect([...decodeG711(everyCode, law)]).toEqual([...everyCode].map((code) => formula(code) + 0));
  });

  it.each(['pcmu', 'pcma'] as const)('keeps every decoded value of %s when it is encoded again', (law) => {
    const once = decodeG711(everyCode, law);
    expect(decodeG711(encodeG711(once, law), law)).toEqual(once);
  });

  it('pads with the codes of zero', () => {
    expect(encodeG711(new Int16Array(1), 'pcmu')[0]).toBe(PCMU_SILENCE);
    expect(encodeG711(new Int16Array(1), 'pcma')[0]).toBe(PCMA_SILENCE);
  });
});
