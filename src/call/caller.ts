/**
 * Who is calling. An identity has a strength; caller ID alone opens no session but the call's own.
 *
 * @module
 */

export type IdentityStrength = 'none' | 'claimed' | 'attested' | 'authenticated';

export interface CallerIdentity {
  readonly strength: IdentityStrength;
  /** Caller id or login, `null` when withheld. Never logged. */
  readonly id: string | null;
}

const ORDER: readonly IdentityStrength[] = ['none', 'claimed', 'attested', 'authenticated'];

export function isAtLeast(strength: IdentityStrength, needed: IdentityStrength): boolean {
  return ORDER.indexOf(strength) >= ORDER.indexOf(needed);
}

/**
 * The chat a call belongs to: the person's own when the identity is strong enough for it, else the call's, so that
 * a forged caller id opens nobody's history.
 */
export function chatIdOf(caller: CallerIdentity, callId: string, needed: IdentityStrength): string {
  return caller.id !== null && isAtLeast(caller.strength, needed) ? caller.id : callId;
}

/** How the caller is described to the model: never more than is known. */
export function describeCaller(caller: CallerIdentity): string {
  switch (caller.strength) {
    case 'none':
      return 'an unknown caller (number withheld)';
    case 'claimed':
      return 'a caller whose number is not verified; treat them as a stranger';
    case 'attested':
      return 'a caller whose number the carrier vouches for, but who has not logged in';
    case 'authenticated':
      return 'the authenticated owner of this session';
    default:
      return caller.strength satisfies never;
  }
}
