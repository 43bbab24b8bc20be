/**
 * Guests who are in: what their cookie, or the code that they show again and again, stands for. Only digests are kept.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { digestOf, type GuestLink } from './guest-links.ts';

/** Guests at once; the oldest without a call gives way. */
export const MAX_PAGE_SESSIONS = 1000;
/** How long a guest is in. */
export const PAGE_SESSION_MS = 12 * 3_600_000;

export interface GuestSession {
  /** Names the session; opens nothing. */
  readonly id: string;
  readonly note: string;
  /** Epoch ms. */
  readonly since: number;
  readonly until: number;
}

export class PageSessions {
  readonly #clock: Clock;
  readonly #tag: string;
  /** By the digest of what is shown, oldest first. */
  readonly #sessions = new Map<string, GuestSession>();
  /** Whether a session has a call. */
  isBusy: (id: string) => boolean = () => false;

  /** @param tag - stands in front of each secret: the worker whose it is */
  constructor(clock: Clock, tag = '') {
    this.#clock = clock;
    this.#tag = tag;
  }

  get size(): number {
    return this.#sessions.size;
  }

  list(): GuestSession[] {
    const now = this.#clock.wallNow();
    for (const [key, { until }] of this.#sessions) if (until <= now) this.#sessions.delete(key);
    return [...this.#sessions.values()];
  }

  /**
   * A link was used.
   *
   * @param shown - what the guest shows from now on, when it is not to be a new secret
   * @returns the session and its secret; `null` when every session has a call
   */
  open(link: GuestLink, shown?: string): { session: GuestSession; secret: string } | null {
    if (this.list().length >= MAX_PAGE_SESSIONS && !this.#makeRoom()) return null;
    const secret = shown ?? this.#tag + randomBytes(32).toString('base64url');
    const since = this.#clock.wallNow();
    const session = { id: link.id, note: link.note, since, until: since + PAGE_SESSION_MS };
    this.#sessions.set(digestOf(secret), session);
    return { session, secret };
  }

  find(secret: string): GuestSession | null {
    const session = this.#sessions.get(digestOf(secret));
    return session && session.until > this.#clock.wallNow() ? session : null;
  }

  remove(id: string): boolean {
    for (const [key, session] of this.#sessions) if (session.id === id) return this.#sessions.delete(key);
    return false;
  }

  #makeRoom(): boolean {
    for (const [key, { id }] of this.#sessions) if (!this.isBusy(id)) return this.#sessions.delete(key);
    return false;
  }
}
