/**
 * The addresses that Twilio may have signed. They come from the config and never from the request's own Host
 * or forwarding headers, which anybody can write.
 *
 * @module
 */

import querystring from 'node:querystring';

const DEFAULT_PORT: Readonly<Record<string, string>> = {
  'https:': '443',
  'wss:': '443',
  'http:': '80',
  'ws:': '80',
};

/** Scheme with `//`, authority, rest. */
const PARTS = /^([a-z]+:)\/\/([^/?#]*)(.*)$/i;

/**
 * Twilio's signer is inconsistent about ports and its own library tries several spellings of the same address:
 * as configured, normalised, with the query re-encoded, each with and without a port.
 *
 * @param base - the configured public address, without a trailing slash
 * @param target - path and query as they arrived
 */
export function signedUrlCandidates(base: string, target: string): string[] {
  const configured = base + target;
  const spellings = new Set([configured, new URL(configured).href]);
  for (const spelling of [...spellings]) {
    const mark = spelling.indexOf('?');
    if (mark < 0) continue;
    const query = querystring.stringify(querystring.parse(spelling.slice(mark + 1)));
    spellings.add(`${spelling.slice(0, mark)}?${query}`);
  }
  return [...new Set([...spellings].flatMap(portVariants))];
}

function portVariants(url: string): string[] {
  const [, scheme, authority, rest] = PARTS.exec(url) ?? [];
  if (scheme === undefined || authority === undefined || rest === undefined) return [url];
  const bare = authority.replace(/:\d+$/, '');
  if (bare !== authority) return [url, `${scheme}//${bare}${rest}`];
  return [url, `${scheme}//${authority}:${DEFAULT_PORT[scheme.toLowerCase()] ?? ''}${rest}`];
}

/** The WebSocket form of an http(s) address. */
export function socketUrl(base: string): string {
  return base.replace(/^http/i, 'ws');
}
