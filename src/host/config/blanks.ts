/**
 * nanobot's settings page writes every field of its form, an empty text for one that nobody filled in. Here that means what
 * it means there: nothing was given.
 *
 * @module
 */

/** A greeting may be empty on purpose: then the caller speaks first. */
const MAY_BE_EMPTY: ReadonlySet<string> = new Set(['greeting']);

/** The value without empty texts, and without the objects that held nothing else. */
export function withoutBlanks(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const kept = Object.entries(value).flatMap(([key, each]) => {
    if (each === '' && !MAY_BE_EMPTY.has(key)) return [];
    const inner = withoutBlanks(each);
    return isEmptied(each, inner) ? [] : [[key, inner] as const];
  });
  return Object.fromEntries(kept);
}

const isEmptied = (before: unknown, after: unknown): boolean =>
  typeof before === 'object' &&
  before !== null &&
  !Array.isArray(before) &&
  Object.keys(before).length > 0 &&
  Object.keys(after as object).length === 0;
