/**
 * The recogniser's pronouncing dictionary, for those who must know before a grammar is made whether a word can
 * be recognised.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
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

class DictionaryFile implements PronouncingDictionary {
  readonly locale: string;
  readonly #pronunciations = new Map<string, string>();

  constructor(locale: string, text: string) {
    this.locale = locale;
    for (let at = 0; at < text.length; ) {
      const newline = text.indexOf('\n', at);
      const end = newline < 0 ? text.length : newline;
      const space = text.indexOf(' ', at);
      // `word(2)` is another pronunciation of `word`.
      if (space > at && space < end && text[space - 1] !== ')') {
        this.#pronunciations.set(text.slice(at, space), text.slice(space + 1, end));
      }
      at = end + 1;
    }
  }

  has(word: string): boolean {
    return this.#pronunciations.has(word);
  }

  pronunciation(word: string): string | null {
    return this.#pronunciations.get(word)?.trim() ?? null;
  }
}

const loaded = new Map<string, PronouncingDictionary>();

/** Reads it once per thread (about 0.1 s). @throws VoiceError `SPEECH_FAILED` for a locale without a model */
export function loadDictionary(locale: string): PronouncingDictionary {
  const known = loaded.get(locale);
  if (known) return known;
  const models = join(dirname(createRequire(import.meta.url).resolve('soundswallower')), 'model');
  let text: string;
  try {
    text = readFileSync(join(models, locale, 'dict.txt'), 'utf8');
  } catch (cause) {
    throw new VoiceError('SPEECH_FAILED', `No acoustic model for ${locale}.`, { cause });
  }
  const dictionary = new DictionaryFile(locale, text);
  loaded.set(locale, dictionary);
  return dictionary;
}
