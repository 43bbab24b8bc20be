/**
 * Python's words for values. nanobot's error texts carry them (`got list`, `one of ['a', 'b']`), and the texts
 * are part of what a model sees, so ours are the same.
 *
 * @module
 */

/** The name of the type Python's `json` module would have made of this value. */
export function pythonTypeName(value: unknown): string {
  if (value === null || value === undefined) return 'NoneType';
  switch (typeof value) {
    case 'string':
      return 'str';
    case 'boolean':
      return 'bool';
    case 'number':
      return Number.isInteger(value) ? 'int' : 'float';
    case 'bigint':
      return 'int';
    default:
      return Array.isArray(value) ? 'list' : 'dict';
  }
}

function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
  let out = quote;
  for (const char of text) {
    if (char === '\\' || char === quote) out += `\\${char}`;
    else if (char === '\n') out += '\\n';
    else if (char === '\r') out += '\\r';
    else if (char === '\t') out += '\\t';
    else if (char < ' ' || char === '\x7f') out += `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`;
    else out += char;
  }
  return out + quote;
}

/** Nesting deeper than this is shown as `...`. */
const MAX_REPR_DEPTH = 32;

/** `repr(value)`. */
export function pythonRepr(value: unknown, depth = 0): string {
  if (value === null || value === undefined) return 'None';
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (depth >= MAX_REPR_DEPTH) return '...';
  if (Array.isArray(value)) return `[${value.map((item) => pythonRepr(item, depth + 1)).join(', ')}]`;
  const entries = Object.entries(value).map(
    ([key, item]) => `${quoted(key)}: ${pythonRepr(item, depth + 1)}`,
  );
  return `{${entries.join(', ')}}`;
}

/** `str(value)`. */
export function pythonText(value: unknown): string {
  return typeof value === 'string' ? value : pythonRepr(value);
}
