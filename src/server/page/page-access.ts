/**
 * Who is at a page, and whether that may be believed: the operator's login, a guest's cookie, or either's secret as a
 * Bearer, for clients that are no browsers.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import type { PageRole } from '../../leg/page/index.ts';
import type { BrowserGuard } from '../pages/browser-guard.ts';
import {
  bearerOf,
  fromElsewhere,
  hostCookie,
  type OperatorLogin,
  PAGE_COOKIE,
} from '../pages/operator-login.ts';
import { AddressRate } from './address-rate.ts';
import { digestOf, GUEST_CODE, type GuestLinks } from './guest-links.ts';
import { type GuestSession, PAGE_SESSION_MS, type PageSessions } from './page-sessions.ts';

/** Wrong codes of one address in a minute. */
export const MAX_WRONG_CODES_PER_ADDRESS = 10;
/** Wrong codes in a minute, in all. */
export const MAX_WRONG_CODES = 60;

/** Whoever is at a page. */
export interface PageUser {
  readonly role: PageRole;
  /** Of the session: calls belong to it. Opens nothing. */
  readonly session: string;
}

interface Headers {
  get(name: string): string | null;
}

const COOKIE_PATTERN = /^(?:__Host-)?nanobot_page=([\w-]{43,44})$/;

export interface PageAccessOptions {
  readonly login: OperatorLogin;
  readonly guard: BrowserGuard;
  readonly links: GuestLinks;
  readonly sessions: PageSessions;
  readonly clock: Clock;
}

export class PageAccess {
  readonly #options: PageAccessOptions;
  readonly #wrong: AddressRate;

  constructor(options: PageAccessOptions) {
    this.#options = options;
    this.#wrong = new AddressRate(
      { perAddress: MAX_WRONG_CODES_PER_ADDRESS, total: MAX_WRONG_CODES },
      options.clock,
    );
  }

  /**
   * @param address - of the client, against guessing
   * @throws VoiceError `PAGE_AUTH_REQUIRED`, `PAGE_CODE_INVALID`, `ORIGIN_REFUSED`, `TOO_MANY_CONNECTIONS`
   */
  async who(headers: Headers, access: 'read' | 'write', address: string): Promise<PageUser> {
    const { guard } = this.#options;
    const bearer = bearerOf(headers);
    if (bearer !== null) {
      // No other site can make a browser send this; one that tries all the same is not helped.
      if (headers.get('origin') !== null && !guard.isOurOrigin(headers)) throw fromElsewhere();
      return this.#byBearer(bearer, address);
    }
    const user = this.#byCookie(headers);
    if (!user)
      throw new VoiceError('PAGE_AUTH_REQUIRED', 'Log in with the operator’s token, or open a guest’s link.');
    if (access === 'write' && !guard.isOurOrigin(headers)) throw fromElsewhere();
    return user;
  }

  /** A code for a cookie. @throws VoiceError `PAGE_CODE_INVALID`, `TOO_MANY_CONNECTIONS` */
  exchange(code: string, address: string): { cookie: string } {
    const { secret } = this.#open(code, address);
    return { cookie: hostCookie(PAGE_COOKIE, secret, PAGE_SESSION_MS / 1000, this.#options.guard.isSecure) };
  }

  /** The cookie that takes a guest's away. */
  get noCookie(): string {
    return hostCookie(PAGE_COOKIE, '', 0, this.#options.guard.isSecure);
  }

  #byCookie(headers: Headers): PageUser | null {
    const { login, sessions } = this.#options;
    const owner = login.sessionOf(headers);
    if (owner !== null) return { role: 'owner', session: digestOf(owner) };
    for (const pair of (headers.get('cookie') ?? '').split(/;\s*/)) {
      const secret = COOKIE_PATTERN.exec(pair)?.[1];
      const session = secret === undefined ? null : sessions.find(secret);
      if (session) return { role: 'guest', session: session.id };
    }
    return null;
  }

  async #byBearer(bearer: string, address: string): Promise<PageUser> {
    const { login, sessions } = this.#options;
    if (!GUEST_CODE.test(bearer)) {
      if (await login.sessions.isToken(bearer)) return { role: 'owner', session: digestOf(bearer) };
      throw new VoiceError('PAGE_AUTH_REQUIRED', 'That is neither a guest’s code nor the operator’s token.');
    }
    const session = sessions.find(bearer) ?? this.#open(bearer, address, bearer).session;
    return { role: 'guest', session: session.id };
  }

  #open(code: string, address: string, shown?: string): { session: GuestSession; secret: string } {
    if (this.#wrong.isOver(address))
      throw new VoiceError('TOO_MANY_CONNECTIONS', 'Too many wrong codes; try again in a minute.');
    const link = this.#options.links.take(code);
    if (!link) {
      this.#wrong.count(address);
      throw new VoiceError('PAGE_CODE_INVALID', 'The link is wrong, was used already, or is too old.');
    }
    const opened = this.#options.sessions.open(link, shown);
    if (!opened) throw new VoiceError('TOO_MANY_CONNECTIONS', 'Too many guests are here.');
    return opened;
  }
}
