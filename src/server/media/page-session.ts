/**
 * Which call a caller's page belongs to: a sealed cookie that outlives our restart and can't be made by others.
 *
 * @module
 */

import type { LinkSigner } from '../../media/index.ts';

const COOKIE = 'nrt_page';
const SEAL = 'page';

/** The `Set-Cookie` that makes a browser the page of this call. */
export function pageCookie(
  signer: LinkSigner,
  callId: string,
  {
    expiresAt,
    now,
    isSecure,
    path = '/media',
  }: { expiresAt: number; now: number; isSecure: boolean; path?: string },
): string {
  const maxAge = Math.max(0, Math.floor((expiresAt - now) / 1000));
  const secure = isSecure ? '; Secure' : '';
  return `${COOKIE}=${signer.seal(SEAL, callId, expiresAt)}; Path=${path}; Max-Age=${maxAge}; HttpOnly; SameSite=Strict${secure}`;
}

/** The call that a `Cookie` header speaks for; `null` when it speaks for none. */
export function pageSessionOf(signer: LinkSigner, cookies: string | null, now: number): string | null {
  for (const pair of (cookies ?? '').slice(0, 4096).split(';')) {
    const [name, value] = pair.trim().split('=', 2);
    if (name === COOKIE && value !== undefined) return signer.unseal(SEAL, value, now);
  }
  return null;
}
