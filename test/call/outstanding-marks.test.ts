/** The ring of marks, held to a plain list of them. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_OUTSTANDING_MARKS, OutstandingMarks } from '../../src/call/outstanding-marks.ts';

const step = fc.oneof(
  { weight: 6, arbitrary: fc.constant('add' as const) },
  { weight: 3, arbitrary: fc.nat(90).map((back) => ({ back })) },
  { weight: 1, arbitrary: fc.constant('clear' as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', 'm', 'm0', 'm-1', 'm01', 'm1.0', 'm1e0', 'M1', ' m1', 'mNaN', 'other'),
  },
);

describe('marks that are out', () => {
  it('are what a list of them would be, whatever comes back', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 300 }), (steps) => {
        const marks = new OutstandingMarks();
        let list: { name: string; position: number; dueAt: number }[] = [];
        let made = 0;
        for (const [at, each] of steps.entries()) {
          if (each === 'add') {
            const name = marks.add(at * 20, at * 7);
            expect(name === null).toBe(list.length >= MAX_OUTSTANDING_MARKS);
            if (name === null) continue;
            made += 1;
            expect(name).toBe(`m${made}`);
            list.push({ name, position: at * 20, dueAt: at * 7 });
          } else if (each === 'clear') {
            marks.clear();
            list = [];
          } else {
            // One that is out, one that was, one that never was, or no name of ours.
            const name = typeof each === 'string' ? each : `m${made - each.back + 2}`;
            const index = list.findIndex((mark) => mark.name === name);
            expect(marks.take(name)).toBe(list[index]?.position ?? null);
            list = list.slice(index + 1);
          }
          expect(marks.count).toBe(list.length);
          if (list[0])
            expect([marks.nextPosition, marks.nextDueAt]).toEqual([list[0].position, list[0].dueAt]);
        }
      }),
      { numRuns: 500 },
    );
  });
});
