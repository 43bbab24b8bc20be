/**
 * The one-use tickets of the WebSocket fallback: a browser's WebSocket can't be told why it was refused, so all that can
 * be refused is, before there is one.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../../clock.ts';
import { MAX_STREAM_TOKENS, STREAM_TOKEN_TTL_MS } from '../limits.ts';
import { digestOf } from './guest-links.ts';
import type { PageUser } from './page-access.ts';

interface Ticket {
  readonly callId: string;
  readonly user: PageUser;
  readonly expiresAt: number;
}

export class PageTickets {
  readonly #clock: Clock;
  readonly #tag: string;
  /** By digest, oldest first. */
  readonly #tickets = new Map<string, Ticket>();

  /** @param tag - stands in front of each ticket: the worker whose it is */
  constructor(clock: Clock, tag = '') {
    this.#clock = clock;
    this.#tag = tag;
  }

  get size(): number {
    return this.#tickets.size;
  }

  issue(callId: string, user: PageUser): string | null {
    const now = this.#clock.now();
    for (const [key, { expiresAt }] of this.#tickets) if (expiresAt <= now) this.#tickets.delete(key);
    if (this.#tickets.size >= MAX_STREAM_TOKENS) return null;
    const ticket = this.#tag + randomBytes(32).toString('base64url');
    this.#tickets.set(digestOf(ticket), { callId, user, expiresAt: now + STREAM_TOKEN_TTL_MS });
    return ticket;
  }

  /** Uses it up. @returns `null` when it is unknown, used or too old */
  take(ticket: string): { readonly callId: string; readonly user: PageUser } | null {
    const key = digestOf(ticket);
    const found = this.#tickets.get(key);
    this.#tickets.delete(key);
    return found && found.expiresAt > this.#clock.now() ? found : null;
  }
}
