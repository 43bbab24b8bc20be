/** The pacer's short way, for a frame that need not wait, held to the long one. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type DueFrame, Pacer, PCMU_8K } from '../../src/audio/index.ts';

const FRAME_BYTES = 160;

type Step =
  | { readonly does: 'audio'; readonly item: string; readonly bytes: number }
  | { readonly does: 'end'; readonly item: string }
  | { readonly does: 'wait'; readonly ms: number }
  | { readonly does: 'clear' };

const item = fc.constantFrom('a', 'b', 'c');
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('audio' as const),
      item,
      bytes: fc.oneof(
        { weight: 4, arbitrary: fc.constant(FRAME_BYTES) },
        { weight: 1, arbitrary: fc.nat(600) },
      ),
    }),
  },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('end' as const), item }) },
  { weight: 3, arbitrary: fc.record({ does: fc.constant('wait' as const), ms: fc.nat(60) }) },
  { weight: 1, arbitrary: fc.record({ does: fc.constant('clear' as const) }) },
);

/** What leaves, and when. */
function run(steps: readonly Step[], isShort: boolean): [number, DueFrame][] {
  const pacer = new Pacer({ format: PCMU_8K, frameBytes: FRAME_BYTES, maxLeadMs: 200 });
  const left: [number, DueFrame][] = [];
  let now = 0;
  let next = 0;
  const letGo = () => {
    for (let due = pacer.next(now); due !== null; due = pacer.next(now)) left.push([now, due]);
  };
  for (const each of steps) {
    switch (each.does) {
      case 'audio': {
        next += 1;
        const bytes = new Uint8Array(each.bytes).fill(next & 0xff);
        if (bytes.length === 0) break;
        const passed = isShort ? pacer.pass(each.item, bytes, bytes, now) : null;
        if (passed) left.push([now, passed]);
        else {
          pacer.push(each.item, bytes);
          letGo();
        }
        break;
      }
      case 'end':
        pacer.end(each.item);
        letGo();
        break;
      case 'wait':
        now += each.ms;
        letGo();
        break;
      case 'clear':
        pacer.clear();
        break;
      default:
        each satisfies never;
    }
  }
  return left;
}

describe('a frame that need not wait', () => {
  it('leaves as it would by the queue, whatever comes before and after it', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        expect(run(steps, true)).toEqual(run(steps, false));
      }),
      { numRuns: 2000 },
    );
  });

  it('takes the short way when nothing is in its way', () => {
    const pacer = new Pacer({ format: PCMU_8K, frameBytes: FRAME_BYTES, maxLeadMs: 200 });
    const bytes = new Uint8Array(FRAME_BYTES);

    const taken = Array.from({ length: 12 }, () => pacer.pass('a', bytes, 'as it came', 0)?.audio);

    // Ten frames are as far ahead as the leg lets it be.
    expect(taken).toEqual([...Array(10).fill('as it came'), undefined, undefined]);
  });
});
