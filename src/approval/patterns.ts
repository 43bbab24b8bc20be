import picomatch from 'picomatch';

/** Exact names first, then case-sensitive globs; tool names have no folders, so `*` matches any name. */
export function nameMatcher(patterns: readonly string[]): (name: string) => boolean {
  const exact = new Set(patterns);
  const globs = patterns
    .filter((pattern) => /[*?[\]{}!()|+@]/.test(pattern))
    .map((pattern) => picomatch(pattern, { dot: true, bash: true, nocase: false }));
  return (name) => exact.has(name) || globs.some((matches) => matches(name));
}
