/**
 * Text on its way to the ear: what a screen shows (markup, addresses, timestamps, JSON) becomes words.
 *
 * @module
 */

import { splitSentences } from '../../speech/index.ts';
import { type CommandPrompts, fillIn } from './prompts.ts';

/** Sentences of a tool's result that are read out; the rest is left with a word that there is more. */
export const MAX_SPOKEN_SENTENCES = 6;

/** Entries of a list that are named. */
export const MAX_SPOKEN_ENTRIES = 8;

const ISO_TIME = /\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?/g;
const ISO_DATE = /\b(\d{4})-(\d{2})-(\d{2})\b/g;

/** Intl names of the locale, e.g. `en-us` → `en-US`. */
function language(locale: string): string {
  const [name = 'en', region = 'us'] = locale.split('-');
  return `${name}-${region.toUpperCase()}`;
}

/** `Date` of the local time that is written there, so that it is said as written, whatever our own zone is. */
function asWritten(stamp: string): Date {
  const [date = '', time = ''] = stamp.split(/[T ]/);
  return new Date(`${date}T${time.slice(0, 5)}:00Z`);
}

function sayTime(stamp: string, prompts: CommandPrompts, locale: string): string {
  const at = asWritten(stamp);
  if (Number.isNaN(at.getTime())) return stamp;
  const part = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(language(locale), { timeZone: 'UTC', ...options }).format(at).replace(/\s/g, ' ');
  return fillIn(prompts.time, {
    weekday: part({ weekday: 'long' }),
    date: part({ month: 'long', day: 'numeric' }),
    time: part({ hour: 'numeric', minute: '2-digit' }),
  });
}

function sayDate(stamp: string, locale: string): string {
  const at = new Date(`${stamp}T00:00:00Z`);
  if (Number.isNaN(at.getTime())) return stamp;
  const options = { timeZone: 'UTC', month: 'long', day: 'numeric', year: 'numeric' } as const;
  return new Intl.DateTimeFormat(language(locale), options).format(at);
}

/** A timestamp with nothing but its weekday and zone behind it, as tools that tell the time write it. */
const ONLY_A_TIME = /^(\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}\S*)(?:\s*\([^()]*\))+\.?$/;

/** Timestamps as words. A text that is nothing but one becomes a sentence of its own. */
export function sayTimes(text: string, prompts: CommandPrompts, locale: string): string {
  return text
    .replace(ONLY_A_TIME, '$1')
    .replace(ISO_TIME, (stamp) => ` ${sayTime(stamp, prompts, locale)} `)
    .replace(ISO_DATE, (stamp) => sayDate(stamp, locale))
    .trim();
}

/** Takes away what is written to be seen: Markdown, bullets, addresses. Every line ends as a sentence. */
export function plainText(text: string, prompts: CommandPrompts): string {
  return text
    .replace(/```[^\n]*\n?/g, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/\bhttps?:\/\/\S+/g, prompts.link)
    .split('\n')
    .map((line) =>
      line
        .replace(/^\s*(?:#{1,6}|[-*+•]|>|\d+[.)])\s+/, '')
        .replace(/(\*\*|__|`|~~)/g, '')
        .replace(/^[\s|:=_-]*$/, '')
        .trim(),
    )
    .filter((line) => line !== '')
    .map((line) => (/[.!?:;,…]$/.test(line) ? line : `${line}.`))
    .join(' ');
}

/** At most `MAX_SPOKEN_SENTENCES` sentences, with a word when there are more. */
export function shorten(text: string, prompts: CommandPrompts): string {
  const sentences = splitSentences(text);
  if (sentences.length <= MAX_SPOKEN_SENTENCES) return sentences.join(' ');
  return [...sentences.slice(0, MAX_SPOKEN_SENTENCES), prompts.more].join(' ');
}

/** `a, b and c`; long lists end with how many are left. */
export function sayList(entries: readonly string[], prompts: CommandPrompts): string {
  const named = entries.slice(0, MAX_SPOKEN_ENTRIES);
  const left = entries.length - named.length;
  const all = left > 0 ? [...named, fillIn(prompts.listMore, { count: String(left) })] : named;
  const last = all.at(-1) ?? '';
  return all.length < 2 ? last : `${all.slice(0, -1).join(', ')} ${prompts.and} ${last}`;
}

/** A JSON value as words: `{"wind_speed": 5}` → "wind speed: 5". */
export function sayJson(value: unknown, prompts: CommandPrompts): string {
  if (value === null || value === undefined) return prompts.empty;
  if (typeof value === 'boolean') return value ? prompts.yes : prompts.no;
  if (typeof value === 'number' || typeof value === 'string') return String(value);
  if (Array.isArray(value)) {
    if (value.length === 0) return prompts.empty;
    return sayList(
      value.map((each) => sayJson(each, prompts)),
      prompts,
    );
  }
  const entries = Object.entries(value).filter(([, each]) => each !== null);
  if (entries.length === 0) return prompts.empty;
  return entries.map(([key, each]) => `${sayKey(key)}: ${sayJson(each, prompts)}.`).join(' ');
}

function sayKey(key: string): string {
  return key
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .replace(/[_-]+/g, ' ')
    .toLowerCase();
}
