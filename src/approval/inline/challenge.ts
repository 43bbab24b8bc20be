/**
 * The two digits drawn for one request: no recording, no television and no model can have known them.
 *
 * @module
 */

import { randomInt } from 'node:crypto';

/** Digits of one challenge. */
export const CHALLENGE_DIGITS = 2;
/** Wrong entries on the keypad that end a request as denied. */
export const MAX_WRONG_ENTRIES = 3;
/** Keyed in place of the code: no. */
export const DENY_KEYS = '00';

/**
 * Draws two different digits, neither of which is in what the prompt says; `0` is never the first.
 *
 * @param avoid - the text that will be said, in digits and words
 */
export function drawChallenge(
  avoid: string,
  digitWords: readonly string[],
  random: (below: number) => number = randomInt,
): string {
  const said = avoid.toLowerCase();
  const free = digitWords
    .map((word, digit) => ({ digit: String(digit), word }))
    .filter(({ digit, word }) => !said.includes(digit) && !new RegExp(`\\b${word}\\b`, 'u').test(said))
    .map(({ digit }) => digit);
  // A summary that names nearly every digit leaves too few to choose from: then all of them are in play.
  const digits = free.filter((digit) => digit !== '0').length >= 4 ? free : [...'0123456789'];
  const first = pick(
    digits.filter((digit) => digit !== '0'),
    random,
  );
  return (
    first +
    pick(
      digits.filter((digit) => digit !== first),
      random,
    )
  );
}

function pick(from: readonly string[], random: (below: number) => number): string {
  return from[random(from.length)] ?? '7';
}

/** The digits as they are said, with a pause between. */
export function spokenDigits(challenge: string, digitWords: readonly string[]): string {
  return [...challenge].map((digit) => digitWords[Number(digit)] ?? digit).join(' ');
}

/** What a finished keypad entry means. */
export function matchKeys(entry: string, challenge: string): 'approve' | 'deny' | 'wrong' {
  if (entry === challenge) return 'approve';
  return entry === DENY_KEYS ? 'deny' : 'wrong';
}
