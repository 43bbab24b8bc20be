/**
 * What is said and what is listened for, per locale: `assets/approvals/<locale>.json`.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { VoiceError } from '../../errors.ts';

const text = z.string().min(1).max(500);
const phrases = z.array(text).min(1);

const wordingSchema = z.strictObject({
  /** How a dot inside a name is said. */
  dot: text,
  digits: z.array(text).length(10),
  prompt: z.strictObject({ speechAndKeys: text, speech: text, keys: text, button: text }),
  again: text,
  keysOnly: text,
  pin: text,
  pinAgain: text,
  pinRight: text,
  pinFailed: text,
  outcome: z.strictObject({
    approved: text,
    denied: text,
    wrongCode: text,
    expired: text,
    elsewhere: text,
    deferred: text,
  }),
  /** In the words of the recogniser's dictionary. */
  speech: z.strictObject({
    approve: phrases,
    forThisCall: phrases,
    deny: phrases,
    /** Recognised, so that they are not forced into something else; they decide nothing. */
    decoys: phrases,
    /** Said before an approval they make it none. */
    negations: phrases,
    /** Said after an approval they make it none. */
    holdOffs: phrases,
  }),
});

export type Wording = z.output<typeof wordingSchema>;

/** @throws VoiceError `CONFIG_INVALID` when the locale has none */
export function loadWording(locale: string): Wording {
  try {
    const file = new URL(`../../../assets/approvals/${locale}.json`, import.meta.url);
    return wordingSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch (cause) {
    throw new VoiceError('CONFIG_INVALID', `There are no approval prompts for the locale ${locale}.`, {
      cause,
    });
  }
}
