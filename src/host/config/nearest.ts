/**
 * Levenshtein's distance, with two neighbours that changed places counted as one mistake (optimal string
 * alignment): the typing error that is most common.
 */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const changed = (last[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      let best = Math.min(changed, (last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        best = Math.min(best, (beforeLast[j - 2] ?? 0) + 1);
      }
      row.push(best);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}

/** Longest name that is compared with others. */
const MAX_NAME_CHARS = 64;

const plain = (name: string) => name.toLowerCase().replace(/[^a-z0-9]/g, '');

/** The candidate that was probably meant, or `null` when none is near. */
export function nearestName(name: string, candidates: readonly string[]): string | null {
  if (name.length > MAX_NAME_CHARS) return null;
  const wanted = plain(name);
  let best: { candidate: string; distance: number } | null = null;
  for (const candidate of candidates) {
    const distance = editDistance(wanted, plain(candidate));
    if (distance < (best?.distance ?? Number.POSITIVE_INFINITY)) best = { candidate, distance };
  }
  // A third of the letters may be wrong; beyond that a suggestion misleads.
  return best && best.distance <= Math.max(1, Math.floor(wanted.length / 3)) ? best.candidate : null;
}
