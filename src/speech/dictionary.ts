/**
 * The recogniser's pronouncing dictionary, for those who must know before a grammar is made whether a word can
 * be recognised.
 *
 * @module
 */

import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { VoiceError } from '../errors.ts';

export interface PronouncingDictionary {
  readonly locale: string;
  /** Whether the recogniser knows the word (lower case). */
  has(word: string): boolean;
  /** Its first pronunciation, phones of the locale's acoustic model with spaces between. */
  pronunciation(word: string): string | null;
}

/** Read at its first use: a gateway listens without it. */
class DictionaryFile implements PronouncingDictionary {
  readonly locale: string;
  readonly #path: string;
  #pronunciations: ReadonlyMap<string, string> | null = null;

  constructor(locale: string, path: string) {
    this.locale = locale;
    this.#path = path;
  }

  has(word: string): boolean {
    return this.#words().has(word);
  }

  pronunciation(word: string): string | null {
    return this.#words().get(word)?.trim() ?? null;
  }

  #words(): ReadonlyMap<string, string> {
    this.#pronunciations ??= parseDictionary(readFileSync(this.#path, 'utf8'));
    return this.#pronunciations;
  }
}

function parseDictionary(text: string): Map<string, string> {
  const pronunciations = new Map<string, string>();
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = newline < 0 ? text.length : newline;
    const space = text.indexOf(' ', at);
    // `word(2)` is another pronunciation of `word`.
    if (space > at && space < end && text[space - 1] !== ')') {
      pronunciations.set(text.slice(at, space), text.slice(space + 1, end));
    }
    at = end + 1;
  }
  return pronunciations;
}

const loaded = new Map<string, PronouncingDictionary>();

/**
 * One per thread and locale. The first word that is looked up takes about 0.1 s.
 *
 * @throws VoiceError `SPEECH_FAILED` for a locale without a model
 */
export function loadDictionary(locale: string): PronouncingDictionary {
  const known = loaded.get(locale);
  if (known) return known;
  const models = join(dirname(createRequire(import.meta.url).resolve('soundswallower')), 'model');
  const path = join(models, locale, 'dict.txt');
  if (!existsSync(path)) throw new VoiceError('SPEECH_FAILED', `No acoustic model for ${locale}.`);
  const dictionary = new DictionaryFile(locale, path);
  loaded.set(locale, dictionary);
  return dictionary;
}
