/**
 * How many lines an edit added and took away, counted as nanobot counts them: by the longest common subsequence of lines.
 *
 * @module
 */

import { splitLines } from './text-lines.ts';

/** Steps of the search; a rewrite that takes more is told as a replacement of everything that differs. */
export const MAX_DIFF_STEPS = 4_000_000;

export interface LineChanges {
  readonly added: number;
  readonly deleted: number;
}

/** Line ends count as one, whatever they are. */
export function lineChanges(before: string, after: string): LineChanges {
  const a = splitLines(before.replaceAll('\r\n', '\n'));
  const b = splitLines(after.replaceAll('\r\n', '\n'));
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const [n, m] = [a.length - start - end, b.length - start - end];
  const distance = editDistance(a.slice(start, start + n), b.slice(start, start + m));
  // Both counts follow from their sum and their difference.
  return { added: (distance + m - n) / 2, deleted: (distance - m + n) / 2 };
}

/** Insertions and deletions from `a` to `b` (Myers, "An O(ND) Difference Algorithm", 1986, without its trace). */
function editDistance(a: readonly string[], b: readonly string[]): number {
  const [n, m] = [a.length, b.length];
  const furthest = new Int32Array(2 * (n + m) + 3);
  const middle = n + m + 1;
  let steps = 0;
  for (let distance = 0; distance <= n + m; distance += 1) {
    for (let k = -distance; k <= distance; k += 2) {
      const down = furthest[middle + k + 1] ?? 0;
      const right = (furthest[middle + k - 1] ?? 0) + 1;
      const goDown = k === -distance || (k !== distance && right - 1 < down);
      let x = goDown ? down : right;
      while (x < n && x - k < m && a[x] === b[x - k]) {
        x += 1;
        steps += 1;
      }
      furthest[middle + k] = x;
      if (x >= n && x - k >= m) return distance;
    }
    steps += distance + 1;
    if (steps > MAX_DIFF_STEPS) return n + m;
  }
  return n + m;
}
