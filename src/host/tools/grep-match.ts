/**
 * Searching one text, away from every file system: what the grep worker runs.
 *
 * @module
 */

import { splitLines } from './text-lines.ts';

/** Longest line of a result; the rest is cut. */
export const MAX_LINE_CHARS = 2000;

export interface GrepPattern {
  readonly source: string;
  readonly caseInsensitive: boolean;
  /** The source is plain text. */
  readonly fixed: boolean;
}

export interface GrepQuery {
  readonly text: string;
  /** Path as the result names it. */
  readonly path: string;
  /** Characters of blocks that are wanted; 0 for the count alone. The block that passes it is the last. */
  readonly blockChars: number;
  /** Stop at the first match. */
  readonly firstOnly: boolean;
  readonly before: number;
  readonly after: number;
}

export interface GrepReply {
  readonly matches: number;
  readonly blocks: readonly string[];
}

/**
 * @throws SyntaxError when the pattern is no regular expression. Python's leading `(?i)` is understood.
 */
export function compilePattern({ source, caseInsensitive, fixed }: GrepPattern): RegExp {
  const inline = !fixed && source.startsWith('(?i)');
  const body = fixed ? source.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&') : inline ? source.slice(4) : source;
  const flags = caseInsensitive || inline ? 'i' : '';
  try {
    return new RegExp(body, `${flags}u`);
  } catch {
    // Escapes such as `\-` are errors in Unicode mode only, and Python allows them.
    return new RegExp(body, flags);
  }
}

const clipped = (line: string) =>
  line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS - 3)}...` : line;

function block(lines: readonly string[], match: number, query: GrepQuery): string {
  const first = Math.max(0, match - query.before);
  const shown = lines
    .slice(first, match + query.after + 1)
    .map((line, index) => `${first + index === match ? '>' : ' '} ${first + index + 1}| ${clipped(line)}`);
  return [`${query.path}:${match + 1}`, ...shown].join('\n');
}

/** Lines of a text that match, each with its surroundings. */
export function grepText(pattern: RegExp, query: GrepQuery): GrepReply {
  const lines = splitLines(query.text);
  const blocks: string[] = [];
  let matches = 0;
  let chars = 0;
  for (const [index, line] of lines.entries()) {
    if (!pattern.test(line)) continue;
    matches += 1;
    if (query.firstOnly) break;
    if (chars >= query.blockChars) continue;
    const found = block(lines, index, query);
    chars += found.length;
    blocks.push(found);
  }
  return { matches, blocks };
}
