import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeLine, LineSplitter } from '../../../src/gateway/remote/index.ts';

const linesOf = (splitter: LineSplitter, chunks: Iterable<Uint8Array>) =>
  [...chunks]
    .flatMap((chunk) => splitter.push(chunk))
    .map((frame) => (frame.type === 'line' ? frame.text : null));

/** `bytes` cut at any places. */
function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const places = [...new Set(at.map((each) => each % (bytes.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => bytes.subarray(from, places[index] ?? bytes.length));
}

describe('the framing of the bridge', () => {
  it('gives back every message, however the reads were split', () => {
    fc.assert(
      fc.property(
        fc.array(fc.jsonValue(), { maxLength: 20 }),
        fc.array(fc.nat(), { maxLength: 60 }),
        (messages, at) => {
          const bytes = Buffer.concat(messages.map((each) => encodeLine({ each }) ?? Buffer.alloc(0)));

          const lines = linesOf(new LineSplitter(), cut(bytes, at));

          expect(lines.map((line) => JSON.stringify(JSON.parse(line ?? 'null')))).toEqual(
            messages.map((each) => JSON.stringify({ each })),
          );
        },
      ),
      { numRuns: 500 },
    );
  });

  it('gives the same lines of any bytes at all, however they were split, and holds no more than one line', () => {
    const noise = fc
      .uint8Array({ maxLength: 400 })
      .map((bytes) => bytes.map((each) => (each < 30 ? 10 : each)));
    fc.assert(
      fc.property(
        noise,
        fc.array(fc.nat(), { maxLength: 60 }),
        fc.integer({ min: 1, max: 40 }),
        (bytes, at, max) => {
          const whole = linesOf(new LineSplitter(max), [bytes]);
          const splitter = new LineSplitter(max);

          const parts = linesOf(splitter, cut(bytes, at));

          expect(parts).toEqual(whole);
          expect(splitter.heldBytes).toBeLessThanOrEqual(max + 1);
        },
      ),
      { numRuns: 1000 },
    );
  });

  it('throws away a line that is too long, says so once, and reads the next one', () => {
    const splitter = new LineSplitter(10);

    const frames = splitter.push(Buffer.from(`${'x'.repeat(11)}\nok\n`));

    expect(frames).toEqual([{ type: 'too_long' }, { type: 'line', text: 'ok' }]);
  });

  it('takes a line of exactly the longest length, with a carriage return after it', () => {
    const splitter = new LineSplitter(10);

    expect(splitter.push(Buffer.from(`${'x'.repeat(10)}\r\n`))).toEqual([
      { type: 'line', text: 'xxxxxxxxxx' },
    ]);
  });

  it('passes over empty lines', () => {
    expect(new LineSplitter().push(Buffer.from('\n\r\n\n{}\n'))).toEqual([{ type: 'line', text: '{}' }]);
  });

  it('keeps a character whole whose bytes came in two reads', () => {
    const bytes = Buffer.from('"é🎈"\n');

    expect(
      linesOf(
        new LineSplitter(),
        [...bytes].map((byte) => Uint8Array.of(byte)),
      ),
    ).toEqual(['"é🎈"']);
  });

  it('writes no line that is too long', () => {
    expect(encodeLine({ text: 'x'.repeat(20) }, 20)).toBeNull();
    expect(encodeLine({ a: 1 }, 7)?.toString()).toBe('{"a":1}\n');
  });
});
