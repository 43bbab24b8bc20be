/**
 * One sentence about a call, for people: what will happen, with the values that matter, secrets left out. Display only.
 *
 * @module
 */

import { redact } from './redact.ts';

/** Characters of one value, and of the whole. */
export const MAX_VALUE_CHARS = 120;
export const MAX_SUMMARY_CHARS = 600;
/** What can be said before people stop listening. */
export const MAX_SPOKEN_CHARS = 220;

const cut = (text: string, limit: number) => (text.length <= limit ? text : `${text.slice(0, limit - 1)}…`);
// Control characters, and those that turn text around: a card must read as what runs.
const flat = (text: string) => text.replace(/[\p{C}\u2028\u2029\s]+/gu, ' ').trim();

function show(value: unknown): string {
  return typeof value === 'string' ? flat(value) : flat(JSON.stringify(value) ?? '');
}

/** `send_email(to=a@example.com, subject=Hello)` */
export function summarize(tool: string, args: Readonly<Record<string, unknown>>): string {
  const shown = Object.entries(redact(args) as Record<string, unknown>).map(
    ([key, value]) => `${flat(key)}=${cut(show(value), MAX_VALUE_CHARS)}`,
  );
  return cut(`${tool}(${shown.join(', ')})`, MAX_SUMMARY_CHARS);
}

/** The same for the ear: `delete file: report dot txt`. Values only, keys where there are several. */
export function spokenSummary(tool: string, args: Readonly<Record<string, unknown>>, dot: string): string {
  const name = speakable(tool.replace(/^mcp_[^_]+_/, '').replace(/([a-z0-9])([A-Z])/g, '$1 $2'), dot);
  const entries = Object.entries(redact(args) as Record<string, unknown>).filter(
    ([, value]) => value !== '' && value !== null,
  );
  const values = entries.map(([key, value]) => {
    const text = speakable(cut(show(value), 80), dot);
    return entries.length > 1 ? `${speakable(key, dot)} ${text}` : text;
  });
  return cut([name, ...(values.length > 0 ? [values.join(', ')] : [])].join(': '), MAX_SPOKEN_CHARS);
}

/** What a synthesiser can say: names without underscores, no sentence ends inside. */
function speakable(text: string, dot: string): string {
  return text
    .replace(/(?<=[\p{L}\p{N}])\.(?=[\p{L}\p{N}])/gu, ` ${dot} `)
    .replace(/[_/\\]+/g, ' ')
    .replace(/[^\p{L}\p{N}@'’%€$£ -]+/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
}
