/**
 * Where a JSON text stops being JSON. `JSON.parse` quotes the text around the fault in its message, and that
 * text can be a key; a line and a column can't.
 *
 * @module
 */

export interface TextPosition {
  /** From 1. */
  readonly line: number;
  /** From 1. */
  readonly column: number;
}

/** Deepest nesting that is looked at; a config has a handful of levels. */
const MAX_DEPTH = 200;

const SPACE = /[ \t\r\n]*/y;
const SCALAR =
  /"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy;

class Fault extends Error {
  readonly offset: number;

  constructor(offset: number) {
    super('not JSON');
    this.offset = offset;
  }
}

/** The first place where `text` breaks JSON's grammar (RFC 8259), or `null` when it doesn't. */
export function findJsonFault(text: string): TextPosition | null {
  try {
    const end = skip(text, value(text, skip(text, 0), 0));
    if (end < text.length) throw new Fault(end);
    return null;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const before = text.slice(0, error.offset).split('\n');
    return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
  }
}

function match(pattern: RegExp, text: string, offset: number): number {
  pattern.lastIndex = offset;
  return pattern.test(text) ? pattern.lastIndex : -1;
}

const skip = (text: string, offset: number) => match(SPACE, text, offset);

function value(text: string, offset: number, depth: number): number {
  if (depth > MAX_DEPTH) throw new Fault(offset);
  if (text[offset] === '{') return members(text, offset, depth, '}');
  if (text[offset] === '[') return members(text, offset, depth, ']');
  const end = match(SCALAR, text, offset);
  if (end < 0) throw new Fault(offset);
  return end;
}

function members(text: string, open: number, depth: number, close: '}' | ']'): number {
  let offset = skip(text, open + 1);
  if (text[offset] === close) return offset + 1;
  for (;;) {
    if (close === '}') {
      if (text[offset] !== '"') throw new Fault(offset);
      offset = skip(text, value(text, offset, depth));
      if (text[offset] !== ':') throw new Fault(offset);
      offset = skip(text, offset + 1);
    }
    offset = skip(text, value(text, offset, depth + 1));
    if (text[offset] === close) return offset + 1;
    if (text[offset] !== ',') throw new Fault(offset);
    offset = skip(text, offset + 1);
  }
}
