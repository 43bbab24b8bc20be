/**
 * What a model wrote as the arguments of a call: read strictly, so that what is checked is what is run.
 *
 * @module
 */

/**
 * One text for one set of arguments, whatever the order and the spacing the model wrote them in; `null` when they are no
 * JSON object or name a key twice, which each reader may take another way. An empty text is no arguments.
 */
export function canonicalArguments(text: string): string | null {
  if (text.trim() === '') return '{}';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value) || namesKeyTwice(text)) return null;
  return JSON.stringify(sorted(value));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.entries(value).map(([key, each]): [string, unknown] => [key, sorted(each)]);
  return Object.fromEntries(members.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** @param text - valid JSON */
function namesKeyTwice(text: string): boolean {
  /** Keys of the objects that are open, `null` for a list. */
  const open: (Set<string> | null)[] = [];
  let last = '';
  // Texts, and the marks that give an object its shape; numbers and words between them do not matter.
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}[\]:]/gs)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(null);
    else if (token === '}' || token === ']') open.pop();
    else if (token === ':') {
      const keys = open.at(-1);
      const key: unknown = JSON.parse(last);
      if (typeof key !== 'string' || !keys) continue;
      if (keys.has(key)) return true;
      keys.add(key);
    } else last = token;
  }
  return false;
}
