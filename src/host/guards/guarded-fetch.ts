/**
 * One GET under the SSRF policy: every hop is checked, resolved once and connected to exactly what was checked.
 * No cookies, no credentials, no proxy from the environment; time and size are bounded by the caller.
 *
 * @module
 */

import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import type { Clock } from '../../clock.ts';
import { undici } from '../../lazy.ts';
import { type ConnectorFactory, pinnedConnector } from './pinned-connector.ts';
import type { SsrfPolicy } from './ssrf-policy.ts';
import { untilAborted } from './until-aborted.ts';

/** Redirects followed; one more is refused. */
export const MAX_REDIRECTS = 5;

export interface GuardedFetchOptions {
  readonly policy: SsrfPolicy;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** For the whole fetch, redirects and body included. */
  readonly timeoutMs: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly connector?: ConnectorFactory;
}

export interface GuardedResponse {
  readonly finalUrl: string;
  readonly status: number;
  /** Lower case, with its parameters; empty when the server sent none. */
  readonly contentType: string;
  /** Decompressed. The reader decides when it has enough. */
  readonly body: AsyncIterable<Uint8Array>;
}

/** Thrown when policy refuses a hop. The message is the reason. */
export class UrlRefusedError extends Error {
  override readonly name = 'UrlRefusedError';
  /** 0 for the URL as given; else the number of the redirect. */
  readonly hop: number;

  constructor(reason: string, hop: number) {
    super(reason);
    this.hop = hop;
  }
}

const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

type Headers = Record<string, string | string[] | undefined>;

function header(headers: Headers, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

function decompressor(encoding: string) {
  switch (encoding.trim().toLowerCase()) {
    case 'gzip':
    case 'x-gzip':
      return createGunzip();
    case 'deflate':
      return createInflate();
    case 'br':
      return createBrotliDecompress();
    default:
      return null;
  }
}

function decoded(body: Readable, encoding: string): Readable {
  const transform = decompressor(encoding);
  // The iterator reports the error; the callback only keeps it from being thrown twice.
  return transform === null ? body : pipeline(body, transform, () => {});
}

/**
 * Fetches `url` and hands the response to `consume`; the connection is closed when that settles.
 *
 * @throws UrlRefusedError when policy refuses the URL or a redirect; the network's or the signal's error
 */
export async function guardedFetch<T>(
  url: string,
  options: GuardedFetchOptions,
  consume: (response: GuardedResponse) => Promise<T>,
): Promise<T> {
  const deadline = new AbortController();
  const timer = options.clock.setTimeout(() => {
    deadline.abort(new Error(`Timed out after ${options.timeoutMs / 1000} seconds`));
  }, options.timeoutMs);
  const signal = AbortSignal.any([options.signal, deadline.signal]);
  try {
    return await followed(url, options, signal, consume);
  } finally {
    timer.clear();
  }
}

async function followed<T>(
  first: string,
  options: GuardedFetchOptions,
  signal: AbortSignal,
  consume: (response: GuardedResponse) => Promise<T>,
): Promise<T> {
  let current = first;
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    const outcome = await oneHop(current, hop, options, signal, consume);
    if (outcome.kind === 'done') return outcome.value;
    current = outcome.location;
  }
  throw new UrlRefusedError(`Too many redirects: exceeded limit of ${MAX_REDIRECTS}`, MAX_REDIRECTS + 1);
}

type HopOutcome<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'redirect'; readonly location: string };

async function oneHop<T>(
  current: string,
  hop: number,
  options: GuardedFetchOptions,
  signal: AbortSignal,
  consume: (response: GuardedResponse) => Promise<T>,
): Promise<HopOutcome<T>> {
  const verdict = await untilAborted(options.policy.check(current), signal);
  if (!verdict.ok) throw new UrlRefusedError(verdict.reason, hop);
  const connect = (options.connector ?? pinnedConnector)(verdict.addresses);
  const { Agent, request } = undici();
  // One agent per hop: a pooled connection would be one that this hop's check knows nothing of.
  const agent = new Agent({ connect, connections: 1, pipelining: 0, headersTimeout: 0, bodyTimeout: 0 });
  try {
    const response = await request(verdict.url, {
      dispatcher: agent,
      method: 'GET',
      headers: { 'accept-encoding': 'gzip, deflate, br', ...options.headers },
      signal,
    });
    response.body.on('error', () => {});
    const location = header(response.headers, 'location');
    if (REDIRECTS.has(response.statusCode) && location !== '') {
      // Judged as it came: what the parser would repair is for the check to see, too.
      const isAbsolute = /^[a-z][a-z0-9+.-]*:/i.test(location);
      if (isAbsolute) return { kind: 'redirect', location };
      if (!URL.canParse(location, verdict.url)) throw new UrlRefusedError('Malformed URL', hop + 1);
      return { kind: 'redirect', location: new URL(location, verdict.url).href };
    }
    const value = await consume({
      finalUrl: verdict.url.href,
      status: response.statusCode,
      contentType: header(response.headers, 'content-type').toLowerCase(),
      body: decoded(response.body, header(response.headers, 'content-encoding')),
    });
    return { kind: 'done', value };
  } finally {
    await agent.destroy();
  }
}
