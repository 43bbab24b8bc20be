/**
 * What an answer is: the whole of it or nothing. "No" alone denies; an approval is the word and the two digits, and not one
 * word more. Everything else is no decision, and belongs to the conversation.
 *
 * @module
 */

import type { Recognition, SpeechGrammar } from '../../speech/index.ts';
import type { Wording } from './wording.ts';

export type Answer =
  | { readonly kind: 'approve'; readonly scope: 'once' | 'call' }
  | { readonly kind: 'deny' }
  /** An approval with other digits. */
  | { readonly kind: 'wrong_code' }
  | { readonly kind: 'none' };

const NONE: Answer = { kind: 'none' };

const plain = (text: string) => text.toLowerCase().normalize('NFC').replace(/[’‘]/g, "'").trim();

/**
 * Reads an answer, recognised or typed.
 *
 * @param text - the whole utterance or message
 * @param challenge - the digits drawn for this request
 */
export function readAnswer(text: string, challenge: string, { speech, digits }: Wording): Answer {
  // A question is never a decision; of other marks only a closing full stop or exclamation is harmless.
  const said = plain(text)
    .replace(/\s*[.!]$/, '')
    .replace(/\s+/g, ' ');
  if (/[^\p{L}\p{N}' -]/u.test(said)) return NONE;
  if (speech.deny.some((phrase) => plain(phrase) === said)) return { kind: 'deny' };
  const opening = speech.approve.map(plain).find((word) => said.startsWith(`${word} `));
  if (opening === undefined) return NONE;
  let rest = said.slice(opening.length + 1);
  const closing = speech.forThisCall.map(plain).find((phrase) => rest.endsWith(` ${phrase}`));
  if (closing !== undefined) rest = rest.slice(0, -closing.length - 1);
  const spoken = rest
    .split(' ')
    .map((word) => {
      const digit = digits.indexOf(word);
      return digit >= 0 ? String(digit) : word;
    })
    .join('');
  if (!/^\d{2}$/.test(spoken)) return NONE;
  if (spoken !== challenge) return { kind: 'wrong_code' };
  return { kind: 'approve', scope: closing === undefined ? 'once' : 'call' };
}

/** From here on a "no" that the recogniser is not sure of is one: nothing runs by mistake because of it. */
export const MIN_DENIAL_RATIO = -45;

/** Reads what was recognised. Only a no may rest on what the recogniser is not sure of. */
export function spokenAnswer({ text, heard }: Recognition, challenge: string, wording: Wording): Answer {
  if (text !== null) return readAnswer(text, challenge, wording);
  if (!heard || heard.ratio < MIN_DENIAL_RATIO) return NONE;
  const unsure = readAnswer(heard.text, challenge, wording);
  return unsure.kind === 'deny' ? unsure : NONE;
}

/**
 * The grammar of one answer, the same for every challenge: all pairs of digits are in it, so that other digits are heard
 * as what they are and not bent into the right ones.
 */
export function answerGrammar({ speech, digits }: Wording, locale: string): SpeechGrammar {
  const any = (phrases: readonly string[]) => `(${phrases.join(' | ')})`;
  const approval = `${any(speech.approve)} <digit> <digit>`;
  return {
    id: `approval-${locale}`,
    expression: [
      `${approval} [${any(speech.forThisCall)}]`,
      ...speech.deny,
      ...speech.decoys,
      `${any(speech.negations)} ${approval}`,
      `${any(speech.negations)} ${any(speech.approve)}`,
      `${approval} ${any(speech.holdOffs)}`,
      '<digit> <digit>',
    ].join(' | '),
    rules: { digit: digits.join(' | ') },
  };
}
