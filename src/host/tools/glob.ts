/**
 * Globs in time linear to the path: a pattern comes from a model, and a backtracking matcher on the thread that
 * carries voices is a way to silence them.
 *
 * @module
 */

type Token =
  | { readonly kind: 'star' }
  | { readonly kind: 'any' }
  | { readonly kind: 'char'; readonly char: string }
  | { readonly kind: 'set'; readonly chars: string; readonly negated: boolean };

/** Most characters of a pattern; a longer one matches nothing. */
export const MAX_GLOB_CHARS = 500;

function tokens(pattern: string): Token[] {
  const found: Token[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern.charAt(at);
    const close = char === '[' ? pattern.indexOf(']', at + 2) : -1;
    if (char === '*') {
      if (found.at(-1)?.kind !== 'star') found.push({ kind: 'star' });
    } else if (char === '?') found.push({ kind: 'any' });
    else if (close !== -1) {
      const body = pattern.slice(at + 1, close);
      const negated = body.startsWith('!');
      found.push({ kind: 'set', chars: negated ? body.slice(1) : body, negated });
      at = close;
    } else found.push({ kind: 'char', char });
  }
  return found;
}

function inSet(char: string, chars: string): boolean {
  for (let at = 0; at < chars.length; at += 1) {
    const from = chars.charAt(at);
    if (chars.charAt(at + 1) === '-' && at + 2 < chars.length) {
      if (from <= char && char <= chars.charAt(at + 2)) return true;
      at += 2;
    } else if (from === char) return true;
  }
  return false;
}

function accepts(token: Token, char: string): boolean {
  switch (token.kind) {
    case 'star':
    case 'any':
      return true;
    case 'char':
      return token.char === char;
    case 'set':
      return inSet(char, token.chars) !== token.negated;
    default:
      return token satisfies never;
  }
}

/** One name against one segment: on a mismatch only the last star is widened, which is enough. */
function matchesName(name: string, pattern: readonly Token[]): boolean {
  let at = 0;
  let token = 0;
  let star = -1;
  let starAt = 0;
  while (at < name.length) {
    const current = pattern[token];
    if (current?.kind === 'star') {
      star = token;
      starAt = at;
      token += 1;
    } else if (current !== undefined && accepts(current, name.charAt(at))) {
      at += 1;
      token += 1;
    } else if (star !== -1) {
      starAt += 1;
      at = starAt;
      token = star + 1;
    } else return false;
  }
  return pattern.slice(token).every((each) => each.kind === 'star');
}

/** A compiled glob: a predicate on a path with `/`. */
export type Glob = (relativePath: string) => boolean;

/**
 * Compiles `*.md`, `docs/**\/*.md`, `[a-c]?.txt`. Without a `/` it is held against the name alone; with one,
 * against the end of the path, as Python's `PurePath.match` does, and `**` spans folders.
 */
export function compileGlob(pattern: string): Glob {
  const text = pattern.trim().replaceAll('\\', '/').replace(/^\/+/, '');
  if (text === '' || text.length > MAX_GLOB_CHARS) return () => false;
  const segments = text.split('/').map((segment) => (segment === '**' ? null : tokens(segment)));
  if (segments[0] !== null) segments.unshift(null);
  return (relativePath) => {
    const names = relativePath.split('/');
    // reachable[i]: the segments so far can match the first i names.
    let reachable = names.map(() => false).concat(false);
    reachable[0] = true;
    for (const segment of segments) {
      const next = reachable.map(() => false);
      let spanning = false;
      for (let index = 0; index <= names.length; index += 1) {
        if (segment === null) {
          spanning ||= reachable[index] === true;
          next[index] = spanning;
        } else if (index > 0 && reachable[index - 1] === true) {
          next[index] = matchesName(names[index - 1] ?? '', segment);
        }
      }
      reachable = next;
    }
    return reachable[names.length] === true;
  };
}
