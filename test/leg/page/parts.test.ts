import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  MAX_INCOMPLETE,
  MAX_MESSAGE_BYTES,
  MAX_PARTS,
  MAX_WIRE_BYTES,
  MessageJoiner,
  MessageSplitter,
} from '../../../src/leg/page/index.ts';

const bytes = (text: string) => Buffer.byteLength(text);

describe('messages in parts', () => {
  it('come out as they went in, whatever they hold, and no wire message is over the bound', () => {
    const text = fc.string({ unit: 'binary', maxLength: 6000 });
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (texts) => {
        const splitter = new MessageSplitter();
        const joiner = new MessageJoiner();
        for (const each of texts) {
          const message = { type: 'transcript', text: each };
          const wires = splitter.split(JSON.stringify(message));
          for (const wire of wires) expect(bytes(wire)).toBeLessThanOrEqual(MAX_WIRE_BYTES);
          const joined = wires.map((wire) => joiner.join(wire));
          expect(joined.slice(0, -1).every((part) => part === undefined)).toBe(true);
          expect(joined.at(-1)).toEqual(JSON.parse(JSON.stringify(message)));
        }
        expect(joiner.incomplete).toBe(0);
      }),
      { numRuns: 200 },
    );
  });

  it('may come in any order', () => {
    const joiner = new MessageJoiner();
    const wires = new MessageSplitter().split(JSON.stringify({ text: 'ä'.repeat(3000) }));

    const joined = wires.toReversed().map((wire) => joiner.join(wire));

    expect(wires.length).toBeGreaterThan(4);
    expect(joined.at(-1)).toEqual({ text: 'ä'.repeat(3000) });
  });

  it('are bounded on their way out', () => {
    expect(() =>
      new MessageSplitter().split(JSON.stringify({ text: 'x'.repeat(MAX_MESSAGE_BYTES) })),
    ).toThrow(RangeError);
    // Control characters grow sixfold when they are escaped twice.
    expect(() => new MessageSplitter().split(JSON.stringify({ text: '\u0001'.repeat(10_000) }))).toThrow(
      RangeError,
    );
  });

  it('are bounded on their way in: the oldest incomplete one is given up', () => {
    const joiner = new MessageJoiner();

    for (let number = 0; number < MAX_INCOMPLETE + 3; number++) {
      joiner.join(JSON.stringify({ part: [number, 0, 2], data: 'x' }));
    }

    expect(joiner.incomplete).toBe(MAX_INCOMPLETE);
    const huge = 'x'.repeat(MAX_MESSAGE_BYTES / 2 - 100);
    joiner.join(JSON.stringify({ part: [100, 0, 4], data: huge }));
    joiner.join(JSON.stringify({ part: [100, 1, 4], data: huge }));
    expect(() => joiner.join(JSON.stringify({ part: [100, 2, 4], data: huge }))).toThrow(RangeError);
    expect(() => joiner.join('x'.repeat(MAX_MESSAGE_BYTES + 1))).toThrow(RangeError);
  });

  it.each([
    ['nothing of JSON', '{'],
    ['no data', '{"part":[0,0,1]}'],
    ['a part beyond the last', '{"part":[0,1,1],"data":""}'],
    ['too many parts', `{"part":[0,0,${MAX_PARTS + 1}],"data":""}`],
    ['fractions', '{"part":[0,0.5,2],"data":""}'],
    ['a negative number', '{"part":[-1,0,2],"data":""}'],
  ])('are refused with %s', (_what, wire) => {
    expect(() => new MessageJoiner().join(wire)).toThrow();
  });

  it('are refused when a part comes twice', () => {
    const joiner = new MessageJoiner();
    joiner.join('{"part":[0,0,2],"data":"a"}');
    expect(() => joiner.join('{"part":[0,0,2],"data":"b"}')).toThrow(RangeError);
  });
});
