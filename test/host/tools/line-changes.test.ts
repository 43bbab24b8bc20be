import fc from 'fast-check';
import { expect, it } from 'vitest';
import { lineChanges, MAX_DIFF_STEPS } from '../../../src/host/tools/line-changes.ts';

/** The textbook's table. */
function longestCommon(a: readonly string[], b: readonly string[]): number {
  const table = Array.from({ length: a.length + 1 }, () => new Array<number>(b.length + 1).fill(0));
  for (let i = 1; i <= a.length; i += 1)
    for (let j = 1; j <= b.length; j += 1)
      table[i]![j] =
        a[i - 1] === b[j - 1] ? table[i - 1]![j - 1]! + 1 : Math.max(table[i - 1]![j]!, table[i]![j - 1]!);
  return table[a.length]![b.length]!;
}

it('counts what was added and taken away as the longest common subsequence has it', () => {
  const lines = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 });
  fc.assert(
    fc.property(lines, lines, (before, after) => {
      const common = longestCommon(before, after);
      const text = (all: readonly string[]) => all.map((line) => `${line}\n`).join('');
      expect(lineChanges(text(before), text(after))).toEqual({
        added: after.length - common,
        deleted: before.length - common,
      });
    }),
    { numRuns: 500 },
  );
});

it('takes one kind of line end for another', () => {
  expect(lineChanges('a\r\nb\r\n', 'a\nb')).toEqual({ added: 0, deleted: 0 });
  expect(lineChanges('', 'x\n')).toEqual({ added: 1, deleted: 0 });
});

it('gives up on a rewrite that would take too long, and calls it one', () => {
  const many = (letter: string) => Array.from({ length: 5000 }, (_, n) => `${letter}${n}\n`).join('');
  const started = performance.now();
  expect(lineChanges(many('a'), many('b'))).toEqual({ added: 5000, deleted: 5000 });
  expect(performance.now() - started).toBeLessThan(5000);
  expect(MAX_DIFF_STEPS).toBeGreaterThan(1_000_000);
});
