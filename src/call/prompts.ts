/**
 * What the channel itself says, word for word, per locale: `assets/calls/<locale>.json`.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { VoiceError } from '../errors.ts';

const text = z.string().min(1).max(500);

const promptsSchema = z.strictObject({
  /** While a tool runs; the first after `fillerAfterMs`, the next ones later. */
  filler: z.array(text).min(1),
  /** While a tool runs that says how far it is; `{progress}` is what it says. */
  progress: text.includes('{progress}'),
  /** What listeners murmur without meaning to take the floor, in lower case, without punctuation. */
  murmurs: z.array(text).max(100),
  /** A response showed no sign of life and was cancelled. */
  stalled: text,
  /** The model is gone for good; the call ends after it. */
  modelFailed: text,
  reconnecting: text,
  silenceAsk: text,
  silenceEnd: text,
  maxDuration: text,
  shutdown: text,
});

export type CallPrompts = z.output<typeof promptsSchema>;

/** @throws VoiceError `CONFIG_INVALID` when the locale does not ship */
export function loadPrompts(locale: string): CallPrompts {
  let raw: string;
  try {
    raw = readFileSync(new URL(`../../assets/calls/${locale}.json`, import.meta.url), 'utf8');
  } catch (cause) {
    throw new VoiceError(
      'CONFIG_INVALID',
      `channels.realtime.locale: there is no locale "${locale}"; en-us and fr-fr ship with the package.`,
      { cause },
    );
  }
  return promptsSchema.parse(JSON.parse(raw));
}
