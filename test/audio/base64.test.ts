import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isBase64 } from '../../src/audio/index.ts';

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{4}|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}==)?$/;

const digits = fc.string({ unit: fc.constantFrom(...'AZaz09+/=-_ \n"\\éA9+A/Zk'), maxLength: 24 });
const damaged = fc
  .tuple(
    fc.uint8Array({ maxLength: 40 }),
    fc.nat(60),
    fc.constantFrom('', '=', '-', '_', ' ', '\n', 'A', '\u0100', '"'),
  )
  .map(([bytes, at, put]) => {
    const text = Buffer.from(bytes).toString('base64');
    return text.slice(0, at) + put + text.slice(at + put.length);
  });

describe('isBase64', () => {
  it('takes what the grammar of RFC 4648 takes, and nothing else', () => {
    fc.assert(
      fc.property(fc.oneof(digits, damaged), (text) => {
        expect(isBase64(text)).toBe(BASE64.test(text));
      }),
      { numRuns: 20_000 },
    );
  });

  it.each([16 * 1024, 60_000])('takes %i bytes, and not with a wrong character in them', (size) => {
    const text = Buffer.alloc(size, 0x2a).toString('base64');

    expect(isBase64(text)).toBe(true);
    expect(isBase64(text.replace('K', '-'))).toBe(false);
    expect(isBase64(`${text.slice(0, 400)}*${text.slice(401)}`)).toBe(false);
  });
});
