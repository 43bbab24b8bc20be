import picomatch from 'picomatch';

/** Names whose answer is remembered; a registry holds fewer. */
export const MAX_REMEMBERED_NAMES = 4096;

/** Exact names first, then case-sensitive globs; tool names have no folders, so `*` matches any name. */
export function nameMatcher(patterns: readonly string[]): (name: string) => boolean {
  if (patterns.length === 0) return () => false;
  const exact = new Set(patterns);
  const globs = patterns
    .filter((pattern) => /[*?[\]{}!()|+@]/.test(pattern))
    .map((pattern) => picomatch(pattern, { dot: true, bash: true, nocase: false }));
  const known = new Map<string, boolean>();
  return (name) => {
    const before = known.get(name);
    if (before !== undefined) return before;
    const isMatch = exact.has(name) || globs.some((matches) => matches(name));
    if (known.size < MAX_REMEMBERED_NAMES) known.set(name, isMatch);
    return isMatch;
  };
}
