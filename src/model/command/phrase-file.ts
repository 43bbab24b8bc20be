/**
 * The phrases of a locale, and those that a person's own file adds.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { VoiceError } from '../../errors.ts';
import type { PronouncingDictionary } from '../../speech/index.ts';
import { type Pattern, parsePattern, patternParts, type SlotEntry } from './pattern.ts';

/** Most phrases of both files together. */
export const MAX_PHRASES = 500;

const say = z.string().min(1).max(300);
const common = {
  /** One or more ways to say it: words, `[optional]`, `(one | other)`, `{slot}`. */
  say: z.union([say, z.array(say).min(1).max(50)]),
  /** How it is named to a caller who asks what can be said; left out, it is not named. */
  example: z.string().min(1).max(120).optional(),
};

/** What the offline model does by itself. */
export const ACTIONS = ['goodbye', 'help', 'repeat', 'stop', 'about', 'greet'] as const;

const phraseSchema = z.union([
  z.strictObject({
    ...common,
    /** The tool to call; without it in the session, the phrase is off. */
    tool: z.string().min(1).max(128),
    /** Its arguments; `{slot}` inside a text is replaced by the slot's value. */
    args: z.record(z.string(), z.json()).default({}),
  }),
  z.strictObject({ ...common, action: z.enum(ACTIONS) }),
  z.strictObject({ ...common, reply: z.string().min(1).max(1000) }),
]);

const slotValueSchema = z.union([
  z.string().min(1).max(100),
  z.strictObject({ say: z.string().min(1).max(100), value: z.string().max(500) }),
]);

const fileSchema = z.strictObject({
  phrases: z.array(phraseSchema).max(MAX_PHRASES),
  /** Slots with fixed values; any other slot's values come from the host. */
  slots: z
    .record(z.string().regex(/^[a-z][a-z0-9_]*$/), z.array(slotValueSchema).min(1).max(500))
    .default({}),
});

type Json = z.infer<ReturnType<typeof z.json>>;

export type PhraseMeaning =
  | { readonly kind: 'tool'; readonly tool: string; readonly args: Readonly<Record<string, Json>> }
  | { readonly kind: 'action'; readonly action: (typeof ACTIONS)[number] }
  | { readonly kind: 'reply'; readonly text: string };

export interface Phrase {
  readonly patterns: readonly Pattern[];
  readonly meaning: PhraseMeaning;
  readonly example: string | null;
}

export interface PhraseBook {
  readonly phrases: readonly Phrase[];
  readonly fixedSlots: ReadonlyMap<string, readonly SlotEntry[]>;
  /** Slots that some phrase uses and that have no fixed values. */
  readonly openSlots: readonly string[];
}

function meaningOf(phrase: z.output<typeof phraseSchema>): PhraseMeaning {
  if ('tool' in phrase) return { kind: 'tool', tool: phrase.tool, args: phrase.args };
  if ('action' in phrase) return { kind: 'action', action: phrase.action };
  return { kind: 'reply', text: phrase.reply };
}

function read(source: URL | string, name: string): z.output<typeof fileSchema> {
  let raw: unknown;
  try {
    raw = JSON.parse(readFileSync(source, 'utf8'));
  } catch (cause) {
    const what = cause instanceof SyntaxError ? 'is not valid JSON' : 'can’t be read';
    throw new VoiceError('PHRASE_INVALID', `${name} ${what}.`, { cause });
  }
  const parsed = fileSchema.safeParse(raw);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue?.path.join('.') || '(top)';
  throw new VoiceError('PHRASE_INVALID', `${name}: ${path}: ${issue?.message ?? 'invalid'}.`);
}

function checkWords(words: readonly string[], where: string, dictionary: PronouncingDictionary): void {
  const unknown = words.find((word) => !dictionary.has(word));
  if (unknown === undefined) return;
  throw new VoiceError(
    'PHRASE_INVALID',
    `${where}: “${unknown}” is not in the ${dictionary.locale} dictionary, so it can’t be recognised. Use other words.`,
  );
}

/**
 * A person's own phrases come first, so that they win over the locale's. Without any, nothing is looked up in the
 * dictionary: the words of the locales' own are known to be in it.
 *
 * @param extraFile - path of a file of the same shape as `assets/locales/<locale>/phrases.json`
 * @throws VoiceError `PHRASE_INVALID`: not the shape, or a word that the recogniser doesn't know
 */
export function loadPhrases(dictionary: PronouncingDictionary, extraFile?: string): PhraseBook {
  const { locale } = dictionary;
  const isExtended = extraFile !== undefined;
  const own = new URL(`../../../assets/locales/${locale}/phrases.json`, import.meta.url);
  const files = [
    ...(isExtended ? [read(extraFile, 'The phrases file')] : []),
    read(own, `The phrases of ${locale}`),
  ];
  const fixedSlots = new Map<string, readonly SlotEntry[]>();
  for (const [name, values] of files.flatMap((file) => Object.entries(file.slots))) {
    if (fixedSlots.has(name)) continue;
    const entries = values.map((each): SlotEntry => {
      const { say: spoken, value } = typeof each === 'string' ? { say: each, value: each } : each;
      return { words: spoken.toLowerCase().normalize('NFC').split(/\s+/), value };
    });
    if (isExtended) for (const { words } of entries) checkWords(words, `Slot {${name}}`, dictionary);
    fixedSlots.set(name, entries);
  }
  const used = new Set<string>();
  const phrases = files
    .flatMap((file) => file.phrases)
    .map((each): Phrase => {
      const ways = typeof each.say === 'string' ? [each.say] : each.say;
      const patterns = ways.map((way) => {
        const pattern = parsePattern(way);
        const { words, slots } = patternParts(pattern);
        if (isExtended) checkWords(words, `Phrase “${way}”`, dictionary);
        for (const slot of slots) used.add(slot);
        return pattern;
      });
      return { patterns, meaning: meaningOf(each), example: each.example ?? null };
    });
  if (phrases.length > MAX_PHRASES)
    throw new VoiceError('PHRASE_INVALID', `More than ${MAX_PHRASES} phrases.`);
  return { phrases, fixedSlots, openSlots: [...used].filter((name) => !fixedSlots.has(name)) };
}
