/**
 * A tool's result in a few spoken sentences. What went wrong is said truthfully, but in our own words: the
 * error text itself is written for a model, holds paths, and is not for the ear.
 *
 * @module
 */

import { sayApproval } from './approval-notes.ts';
import { type CommandPrompts, fillIn } from './prompts.ts';
import { sayName } from './spoken-name.ts';
import { plainText, sayJson, sayList, sayTimes, shorten } from './spoken-text.ts';

type Failure =
  | 'toolOutside'
  | 'toolRefused'
  | 'toolNotFound'
  | 'toolTimedOut'
  | 'toolCancelled'
  | 'toolFailed';

const FAILURES: readonly (readonly [RegExp, Failure])[] = [
  [/outside (?:the |allowed |working |configured )*(?:workspace|directory|dir)\b/i, 'toolOutside'],
  [/\btim(?:ed|e) ?out\b|took too long/i, 'toolTimedOut'],
  [/\bcancel(?:l?ed)?\b|\baborted\b/i, 'toolCancelled'],
  [/\bnot found\b|no such file|does not exist/i, 'toolNotFound'],
  [/\b(?:blocked|denied|refused|forbidden|not allowed|not permitted|disabled)\b/i, 'toolRefused'],
];

function failureOf(message: string): Failure {
  return FAILURES.find(([pattern]) => pattern.test(message))?.[1] ?? 'toolFailed';
}

function parseJson(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const LISTING = /^(📁|📄) (.+)$/u;
const NUMBERED = /^\s*\d+\| ?/;
/** What tools add for a model's eyes: where a page goes on, that a file ends. */
const FOOTER = /^\((?:Showing|End of file|pagination|truncated|Empty file)\b.*\)$/;

function listing(lines: readonly string[], prompts: CommandPrompts): string | null {
  const entries = lines.map((line) => LISTING.exec(line));
  const named = entries.flatMap((match) => {
    if (!match) return [];
    const name = sayName(match[2] ?? '', prompts.names);
    return [match[1] === '📁' ? `${prompts.folder} ${name}` : name];
  });
  if (named.length === 0 || named.length !== entries.length) return null;
  const list = sayList(named, prompts);
  return fillIn(named.length === 1 ? prompts.listOne : prompts.listMany, {
    list,
    count: String(named.length),
  });
}

/** Whether the tool's text says that it failed; nothing else does, on the model's side. */
export function isFailure(output: string): boolean {
  if (/^(?:Error|Cancelled)\b/.test(output)) return true;
  const json = parseJson(output);
  return typeof json === 'object' && json !== null && 'error' in json;
}

/** What a tool wrote for people to hear, beside a status that is not for the ear; `null` for any other result. */
function messageOf(json: unknown): string | null {
  if (typeof json !== 'object' || json === null || Object.keys(json).length !== 2) return null;
  return 'status' in json && 'message' in json && typeof json.message === 'string' ? json.message : null;
}

/** A result in spoken words, a few sentences at most. */
export function sayToolResult(output: string, prompts: CommandPrompts, locale: string): string {
  const text = output.trim();
  if (text === '') return prompts.toolDone;
  const approval = sayApproval(text, prompts);
  if (approval !== null) return approval;
  if (isFailure(text)) return prompts[failureOf(text)];
  const json = parseJson(text);
  const message = messageOf(json);
  if (message !== null) return shorten(plainText(message, prompts), prompts);
  if (json !== undefined) return shorten(sayTimes(sayJson(json, prompts), prompts, locale), prompts);
  if (/^\(Empty file\b|^Directory .* is empty$/.test(text)) return prompts.empty;

  const lines = text.split('\n').filter((line) => line.trim() !== '' && !FOOTER.test(line.trim()));
  const list = listing(lines, prompts);
  if (list !== null) return list;
  const goesOn = /^\(Showing lines /m.test(text);
  const content = lines.map((line) => line.replace(NUMBERED, '')).join('\n');
  const spoken = sayTimes(plainText(content, prompts), prompts, locale);
  if (spoken === '') return prompts.empty;
  const short = shorten(spoken, prompts);
  return goesOn && !short.endsWith(prompts.more) ? `${short} ${prompts.more}` : short;
}
