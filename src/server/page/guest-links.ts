/**
 * Links for guests: a code that opens one session, once. Only digests of codes are kept.
 *
 * @module
 */

import { createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';

/** Links that wait to be used. */
export const MAX_GUEST_LINKS = 200;
/** Characters of a link's note. */
export const MAX_NOTE_CHARS = 100;

/** `g_`, the worker's name where there are several, and 192 bits. */
export const GUEST_CODE = /^g_[\w-]{32,33}$/;
const CODE_BYTES = 24;

export interface GuestLink {
  /** For lists and for taking it back; opens nothing. */
  readonly id: string;
  readonly note: string;
  /** Epoch ms. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

export class GuestLinks {
  readonly #clock: Clock;
  readonly #tag: string;
  /** By the digest of the code, oldest first. */
  readonly #links = new Map<string, GuestLink>();

  /** @param tag - stands in front of each code's secret part: the worker whose it is */
  constructor(clock: Clock, tag = '') {
    this.#clock = clock;
    this.#tag = tag;
  }

  /** Links that can still be used. */
  list(): GuestLink[] {
    const now = this.#clock.wallNow();
    for (const [key, { expiresAt }] of this.#links) if (expiresAt <= now) this.#links.delete(key);
    return [...this.#links.values()];
  }

  /** @returns the code, shown once; `null` when too many wait to be used already */
  make(note: string, ttlMs: number): { code: string; link: GuestLink } | null {
    if (this.list().length >= MAX_GUEST_LINKS) return null;
    const code = `g_${this.#tag}${randomBytes(CODE_BYTES).toString('base64url')}`;
    const createdAt = this.#clock.wallNow();
    const link = {
      id: randomBytes(8).toString('hex'),
      note: note.slice(0, MAX_NOTE_CHARS),
      createdAt,
      expiresAt: createdAt + ttlMs,
    };
    this.#links.set(digestOf(code), link);
    return { code, link };
  }

  /** Uses a code up; `null` when it is wrong, used or too old. The look-up is by digest: its time tells nothing. */
  take(code: string): GuestLink | null {
    if (!GUEST_CODE.test(code)) return null;
    const key = digestOf(code);
    const link = this.#links.get(key);
    if (!link) return null;
    this.#links.delete(key);
    return link.expiresAt > this.#clock.wallNow() ? link : null;
  }

  remove(id: string): boolean {
    for (const [key, link] of this.#links) if (link.id === id) return this.#links.delete(key);
    return false;
  }
}

export function digestOf(secret: string): string {
  return createHash('sha256').update(secret).digest('hex');
}
