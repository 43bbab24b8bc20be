/**
 * The one-use secret that ties a media socket to the call whose webhook was verified. It travels in the answer
 * to that webhook and comes back with the socket; whoever shows it first is the call's stream.
 *
 * @module
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Clock } from '../clock.ts';
import { MAX_STREAM_TOKENS, STREAM_TOKEN_TTL_MS } from './limits.ts';

/** What a token stands for. */
export interface StreamGrant {
  /** Our call id, from `Desk.admit`. */
  readonly callId: string;
  readonly carrierCallId: string;
}

interface Entry {
  readonly digest: Buffer;
  readonly grant: StreamGrant;
  readonly expiresAt: number;
}

/** Bytes of randomness in a token. */
const TOKEN_BYTES = 32;
/** Longest text that is looked at as a token. */
const MAX_TOKEN_CHARS = 128;

export class StreamTokens {
  readonly #clock: Clock;
  readonly #tag: string;
  /** Keyed by the token's digest, oldest first; the tokens themselves are not kept. */
  readonly #entries = new Map<string, Entry>();

  /** @param tag - stands in front of each token: the worker whose it is */
  constructor(clock: Clock, tag = '') {
    this.#clock = clock;
    this.#tag = tag;
  }

  /** Tokens that can still be used. */
  get size(): number {
    this.#dropExpired();
    return this.#entries.size;
  }

  /** A fresh token for the call, in URL-safe characters; `null` when too many wait to be used already. */
  issue(grant: StreamGrant): string | null {
    if (this.size >= MAX_STREAM_TOKENS) return null;
    const token = this.#tag + randomBytes(TOKEN_BYTES).toString('base64url');
    const digest = digestOf(token);
    const expiresAt = this.#clock.now() + STREAM_TOKEN_TTL_MS;
    this.#entries.set(digest.toString('hex'), { digest, grant, expiresAt });
    return token;
  }

  /** What the token stands for, and uses it up; `null` when it is unknown, used or too old. */
  take(token: string): StreamGrant | null {
    const entry = this.#find(token);
    if (!entry) return null;
    this.#entries.delete(entry.digest.toString('hex'));
    return entry.grant;
  }

  /** Whether the token could still be used. */
  isLive(token: string): boolean {
    return this.#find(token) !== null;
  }

  /** Takes back what was issued for a call that is over. */
  revoke(carrierCallId: string): void {
    for (const [key, entry] of this.#entries) {
      if (entry.grant.carrierCallId === carrierCallId) this.#entries.delete(key);
    }
  }

  #find(token: string): Entry | null {
    if (token === '' || token.length > MAX_TOKEN_CHARS) return null;
    this.#dropExpired();
    // The look-up is by digest, so its time says nothing about a token's characters; the comparison that
    // decides takes the same time wherever they differ.
    const digest = digestOf(token);
    const entry = this.#entries.get(digest.toString('hex'));
    return entry && timingSafeEqual(entry.digest, digest) ? entry : null;
  }

  #dropExpired(): void {
    const now = this.#clock.now();
    for (const [key, entry] of this.#entries) {
      if (entry.expiresAt > now) return;
      this.#entries.delete(key);
    }
  }
}

function digestOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
