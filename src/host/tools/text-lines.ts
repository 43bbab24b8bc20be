/**
 * Lines as Python's `str.splitlines` cuts them; line numbers in results and hints count these.
 *
 * @module
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are line boundaries too
const BOUNDARY = /\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

export function splitLines(text: string): string[] {
  const lines = text.split(BOUNDARY);
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: as above, but for the usual one
const UNUSUAL_BOUNDARY = /[\r\v\f\x1c-\x1e\x85\u2028\u2029]/;

export interface LineWindow {
  readonly lines: readonly string[];
  /** Lines of the whole text. */
  readonly total: number;
}

/** Lines `offset` (from 1) to `offset + limit - 1`, and how many there are; without cutting up the whole text. */
export function lineWindow(text: string, offset: number, limit: number): LineWindow {
  if (UNUSUAL_BOUNDARY.test(text)) {
    const all = splitLines(text);
    return { lines: all.slice(offset - 1, offset - 1 + limit), total: all.length };
  }
  const lines: string[] = [];
  let total = 0;
  for (let start = 0; start < text.length; ) {
    const found = text.indexOf('\n', start);
    const end = found === -1 ? text.length : found;
    total += 1;
    if (total >= offset && lines.length < limit) lines.push(text.slice(start, end));
    start = end + 1;
  }
  return { lines, total };
}

/** Characters as Python counts them: a surrogate pair is one. */
export function characterCount(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

/** At most `limit` UTF-16 units, never half a surrogate pair. */
export function clip(text: string, limit: number): string {
  if (text.length <= limit) return text;
  const cut = text.slice(0, limit);
  return /[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut;
}

/** UTF-8 text, or `null` when the bytes are something else. */
export function decodeUtf8(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return null;
  }
}
