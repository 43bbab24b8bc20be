/**
 * Where a session connects to and what it shows at the door.
 *
 * @module
 */

import { VoiceError } from '../../errors.ts';
import type { DialectProfile } from './profiles.ts';

export interface Endpoint {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Host and port, for people. */
  readonly host: string;
}

/**
 * @param baseUrl - `ws:`, `wss:`, `http:` or `https:`; with or without the path of the realtime endpoint
 * @throws VoiceError `CONFIG_INVALID`
 */
export function endpointOf(
  profile: DialectProfile,
  model: string,
  baseUrl: string | undefined,
  apiKey: string | undefined,
): Endpoint {
  const base = baseUrl ?? profile.defaultUrl;
  if (base === null) {
    throw new VoiceError(
      'CONFIG_INVALID',
      `model.baseUrl: ${profile.label} needs the address of the server.`,
    );
  }
  const url = parseUrl(base);
  if (url.username !== '' || url.password !== '') {
    throw new VoiceError(
      'CONFIG_INVALID',
      'model.baseUrl: put the key into model.apiKey, not into the address.',
    );
  }
  // Setting `protocol` from http to ws is refused by the URL standard, so the text is changed.
  const socketUrl = new URL(url.href.replace(/^http/, 'ws'));
  if (socketUrl.pathname === '/') socketUrl.pathname = profile.path;
  else if (!socketUrl.pathname.endsWith('/realtime')) {
    socketUrl.pathname = `${socketUrl.pathname.replace(/\/$/, '')}/realtime`;
  }
  socketUrl.hash = '';
  if (!socketUrl.searchParams.has('model')) socketUrl.searchParams.set('model', model);
  if (profile.keyRequired && !apiKey) {
    throw new VoiceError('CONFIG_INVALID', `model.apiKey: ${profile.label} needs a key.`);
  }
  const headers = apiKey ? { [profile.auth.header]: `${profile.auth.prefix}${apiKey}` } : {};
  return { url: socketUrl.href, headers, host: socketUrl.host };
}

function parseUrl(text: string): URL {
  let url: URL | null = null;
  try {
    url = new URL(text);
  } catch {
    // Reported below, together with a wrong scheme.
  }
  if (url === null || !/^(wss?|https?):$/.test(url.protocol)) {
    throw new VoiceError('CONFIG_INVALID', 'model.baseUrl: use an address like wss://host/v1/realtime.');
  }
  return url;
}
