/**
 * Who calls, as far as a verified Twilio webhook can say.
 *
 * @module
 */

import type { RealtimeConfig } from '../../config.ts';
import type { CallerInfo } from '../desk.ts';
import type { WebhookParams } from './signature.ts';

/** The one value by which the carrier says "this caller may use this number"; `-Diverted` vouches for another. */
const FULL_ATTESTATION = 'TN-Validation-Passed-A';

/** What stands in `From` when the number is withheld: one of these, or its letters as a phone's keys. */
const WITHHELD = ['anonymous', 'restricted', 'private', 'unavailable', 'unknown', 'blocked'];
const KEYS = [...'22233344455566677778889999'];

const dialled = (word: string) => [...word].map((letter) => KEYS[letter.charCodeAt(0) - 97] ?? '').join('');
const WITHHELD_IDS = new Set(['', ...WITHHELD, ...WITHHELD.map(dialled)]);

/** Longest caller id or route that is believed. */
const MAX_ADDRESS_CHARS = 256;

export function callerIdentity(
  params: WebhookParams,
  identity: RealtimeConfig['identity'],
): CallerInfo['identity'] {
  const from = (params.get('From') ?? '').trim();
  const withheld = WITHHELD_IDS.has(from.toLowerCase().replace(/^\+/, ''));
  if (withheld || from.length > MAX_ADDRESS_CHARS) return { strength: 'none', id: null };
  const vouched = identity.acceptAttestation && params.get('StirVerstat') === FULL_ATTESTATION;
  return { strength: vouched ? 'attested' : 'claimed', id: from };
}

export function calledRoute(params: WebhookParams): string {
  return (params.get('To') ?? '').slice(0, MAX_ADDRESS_CHARS);
}

/** nanobot's `allowFrom`: `*`, or exactly that id; an empty list denies everybody. */
export function isAllowed(allowFrom: readonly string[], id: string | null): boolean {
  return allowFrom.includes('*') || (id !== null && allowFrom.includes(id));
}
