/**
 * How a phrase is written: words, `[optional]`, `(one | other)` and `{slot}`. One small tree gives both the
 * recogniser's grammar and the way back from recognised words to slot values.
 *
 * @module
 */

import { VoiceError } from '../../errors.ts';

export type Pattern =
  | { readonly kind: 'word'; readonly word: string }
  | { readonly kind: 'slot'; readonly name: string }
  | { readonly kind: 'optional'; readonly content: Pattern }
  | { readonly kind: 'sequence'; readonly parts: readonly Pattern[] }
  | { readonly kind: 'choice'; readonly options: readonly Pattern[] };

/** One way to say a slot's value. */
export interface SlotEntry {
  readonly words: readonly string[];
  readonly value: string;
}

export type SlotTable = ReadonlyMap<string, readonly SlotEntry[]>;

const TOKEN = /\{[a-z][a-z0-9_]*\}|[()[\]|]|[^\s()[\]|{}]+/gy;

function invalid(phrase: string, what: string): never {
  throw new VoiceError('PHRASE_INVALID', `The phrase “${phrase}” ${what}.`);
}

function tokens(phrase: string): string[] {
  const found: string[] = [];
  let at = 0;
  while (at < phrase.length) {
    if (/\s/.test(phrase[at] ?? '')) {
      at++;
      continue;
    }
    TOKEN.lastIndex = at;
    const [token] = TOKEN.exec(phrase) ?? [];
    if (!token) invalid(phrase, 'has a brace that is not a {slot}');
    found.push(token);
    at += token.length;
  }
  return found;
}

/** @throws VoiceError `PHRASE_INVALID` */
export function parsePattern(phrase: string): Pattern {
  const list = tokens(phrase.toLowerCase().normalize('NFC'));
  let at = 0;
  const choice = (end: string | undefined): Pattern => {
    const options: Pattern[] = [sequence(end)];
    while (list[at] === '|') {
      at++;
      options.push(sequence(end));
    }
    if (list[at] !== end) invalid(phrase, end ? `lacks a “${end}”` : 'has a bracket too many');
    at++;
    return options.length === 1 && options[0] ? options[0] : { kind: 'choice', options };
  };
  const sequence = (end: string | undefined): Pattern => {
    const parts: Pattern[] = [];
    while (at < list.length && list[at] !== end && list[at] !== '|') parts.push(part(list[at++] ?? ''));
    if (parts.length === 0) invalid(phrase, 'has an empty part');
    return parts.length === 1 && parts[0] ? parts[0] : { kind: 'sequence', parts };
  };
  const part = (token: string): Pattern => {
    if (token === '[') return { kind: 'optional', content: choice(']') };
    if (token === '(') return choice(')');
    if (token.startsWith('{')) return { kind: 'slot', name: token.slice(1, -1) };
    if (!/^[\p{L}\p{M}\p{N}'_.-]+$/u.test(token)) invalid(phrase, `holds “${token}”, which can’t be spoken`);
    return { kind: 'word', word: token };
  };
  return choice(undefined);
}

/** The name of the grammar rule that holds a slot's values. */
export function slotRule(name: string): string {
  return `slot_${name}`;
}

export function toJsgf(pattern: Pattern): string {
  switch (pattern.kind) {
    case 'word':
      return pattern.word;
    case 'slot':
      return `<${slotRule(pattern.name)}>`;
    case 'optional':
      return `[ ${toJsgf(pattern.content)} ]`;
    case 'sequence':
      return pattern.parts.map(toJsgf).join(' ');
    case 'choice':
      return `( ${pattern.options.map(toJsgf).join(' | ')} )`;
    default:
      return pattern satisfies never;
  }
}

/** Every word and every slot name in the pattern. */
export function patternParts(pattern: Pattern): { words: string[]; slots: string[] } {
  switch (pattern.kind) {
    case 'word':
      return { words: [pattern.word], slots: [] };
    case 'slot':
      return { words: [], slots: [pattern.name] };
    case 'optional':
      return patternParts(pattern.content);
    case 'sequence':
    case 'choice': {
      const parts = (pattern.kind === 'sequence' ? pattern.parts : pattern.options).map(patternParts);
      return { words: parts.flatMap((part) => part.words), slots: parts.flatMap((part) => part.slots) };
    }
    default:
      return pattern satisfies never;
  }
}

type SlotValues = Readonly<Record<string, string>>;

interface Match {
  readonly next: number;
  readonly values: SlotValues;
}

function* matches(
  pattern: Pattern,
  words: readonly string[],
  from: Match,
  slots: SlotTable,
): Generator<Match> {
  switch (pattern.kind) {
    case 'word':
      if (words[from.next] === pattern.word) yield { ...from, next: from.next + 1 };
      return;
    case 'slot':
      for (const entry of slots.get(pattern.name) ?? []) {
        if (!entry.words.every((word, i) => words[from.next + i] === word)) continue;
        const values = { ...from.values, [pattern.name]: entry.value };
        yield { next: from.next + entry.words.length, values };
      }
      return;
    case 'optional':
      yield* matches(pattern.content, words, from, slots);
      yield from;
      return;
    case 'choice':
      for (const option of pattern.options) yield* matches(option, words, from, slots);
      return;
    case 'sequence':
      yield* sequenceMatches(pattern.parts, words, from, slots);
      return;
    default:
      pattern satisfies never;
  }
}

function* sequenceMatches(
  parts: readonly Pattern[],
  words: readonly string[],
  from: Match,
  slots: SlotTable,
): Generator<Match> {
  const [first, ...rest] = parts;
  if (!first) {
    yield from;
    return;
  }
  for (const match of matches(first, words, from, slots)) yield* sequenceMatches(rest, words, match, slots);
}

/** The slot values when the words are exactly this phrase, else `null`. */
export function matchPattern(
  pattern: Pattern,
  words: readonly string[],
  slots: SlotTable,
): SlotValues | null {
  for (const match of matches(pattern, words, { next: 0, values: {} }, slots)) {
    if (match.next === words.length) return match.values;
  }
  return null;
}
