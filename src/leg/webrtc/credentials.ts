/**
 * Short-lived TURN credentials, as coturn's `use-auth-secret` takes them: the user name says until when, the password
 * proves that whoever made it knows the secret. https://datatracker.ietf.org/doc/html/draft-uberti-behave-turn-rest-00
 *
 * @module
 */

import { createHmac } from 'node:crypto';
import type { WebRtcConfig } from '../../config-webrtc.ts';

export interface TurnCredential {
  /** Unix time in seconds, and after a colon whose it is. */
  readonly username: string;
  readonly credential: string;
}

/** One entry for a browser's `RTCPeerConnection({ iceServers })`. */
export interface PageIceServer {
  readonly urls: readonly string[];
  readonly username?: string;
  readonly credential?: string;
}

/**
 * @param secret - the shared secret; it is not in the result
 * @param expiresAt - ms since 1970; whole seconds of it count
 * @param id - whose it is, for the TURN server's log; nothing secret
 */
export function turnCredential(secret: string, expiresAt: number, id?: string): TurnCredential {
  const until = Math.floor(expiresAt / 1000);
  const username = id === undefined ? String(until) : `${until}:${id}`;
  return { username, credential: createHmac('sha1', secret).update(username).digest('base64') };
}

/** What a page is given: STUN and TURN servers, the latter with a credential of its own. */
export function pageIceServers(config: WebRtcConfig, wallNow: number, id?: string): PageIceServer[] {
  const { stun, turn, relayOnly } = config;
  const servers: PageIceServer[] = stun.length > 0 && !relayOnly ? [{ urls: stun }] : [];
  if (turn.urls.length > 0 && turn.secret !== undefined)
    servers.push({ urls: turn.urls, ...turnCredential(turn.secret, wallNow + turn.ttlS * 1000, id) });
  return servers;
}

/** The same as `Link` headers of a WHIP answer (RFC 9725, section 4.6). */
export function iceServerLinks(servers: readonly PageIceServer[]): string[] {
  return servers.flatMap(({ urls, username, credential }) =>
    urls.map((url) =>
      username === undefined || credential === undefined
        ? `<${url}>; rel="ice-server"`
        : `<${url}>; rel="ice-server"; username="${username}"; credential="${credential}"; credential-type="password"`,
    ),
  );
}
