/**
 * Who this page is, and what it may do: `page/session`.
 *
 * @module
 */

import { z } from 'zod';
import { get, post, request, roleSchema } from '../shared/api.ts';

const iceServerSchema = z.object({
  urls: z.union([z.string(), z.array(z.string())]),
  username: z.string().optional(),
  credential: z.string().optional(),
});

const sessionSchema = z.object({
  role: z.enum(['owner', 'guest']),
  agent: z.object({ name: z.string() }),
  canCall: z.boolean(),
  whyNot: z.string().nullable(),
  call: z.string().nullable(),
  iceServers: z.array(iceServerSchema),
  relayOnly: z.boolean(),
  webrtc: z.boolean(),
  socket: z.boolean(),
  fallbackAfterMs: z.number(),
});
export type PageSession = z.output<typeof sessionSchema>;

/** @throws ApiError `PAGE_AUTH_REQUIRED` when nobody is logged in */
export function readSession(): Promise<PageSession> {
  return get('page/session', sessionSchema);
}

/** Exchanges the one-use code of a guest's link. @throws ApiError `PAGE_CODE_INVALID`, `TOO_MANY_CONNECTIONS` */
export async function useCode(code: string): Promise<void> {
  await post('page/session', { code }, roleSchema);
}

export async function leaveSession(role: PageSession['role']): Promise<void> {
  if (role === 'guest') await request('page/session', { method: 'DELETE' });
  else
    await request('operator/logout', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{}',
    });
}

/** The code of `#code=…`; it is taken out of the address, so that it is in no history and no screenshot. */
export function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get('code');
  if (code !== null) history.replaceState(null, '', location.pathname + location.search);
  return code;
}
