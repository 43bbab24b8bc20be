/**
 * The operator's login: the token is exchanged for a cookie, which is what the page carries from then on.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { OperatorSecret } from '../../approval/index.ts';
import type { Clock } from '../../clock.ts';

/** Logins at the same time; the oldest gives way. */
export const MAX_OPERATOR_SESSIONS = 50;
/** A login holds for so long. */
export const OPERATOR_SESSION_MS = 12 * 3_600_000;
/** Wrong tokens in one minute; then nobody logs in until it is over. */
export const MAX_FAILED_LOGINS_PER_MINUTE = 30;

interface Session {
  readonly until: number;
  /** The token it came from: a new one ends it. */
  readonly fingerprint: string;
}

export class OperatorSessions {
  readonly #secret: OperatorSecret;
  readonly #clock: Clock;
  readonly #tag: string;
  readonly #sessions = new Map<string, Session>();
  #failures: number[] = [];

  /** @param tag - stands in front of each login's id: the worker whose it is */
  constructor(secret: OperatorSecret, clock: Clock, tag = '') {
    this.#tag = tag;
    this.#secret = secret;
    this.#clock = clock;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Whether too many wrong tokens came lately. */
  get isLocked(): boolean {
    const since = this.#clock.now() - 60_000;
    this.#failures = this.#failures.filter((at) => at > since);
    return this.#failures.length >= MAX_FAILED_LOGINS_PER_MINUTE;
  }

  /** Checks the token itself, as the command line sends it. */
  async isToken(token: string): Promise<boolean> {
    if (this.isLocked) return false;
    if (this.#secret.verify(token)) return true;
    // `approvals token` may have made a new one meanwhile.
    await this.#secret.refresh();
    if (this.#secret.verify(token)) return true;
    this.#failures.push(this.#clock.now());
    return false;
  }

  /** A new login; `null` for a wrong token. */
  async login(token: string): Promise<string | null> {
    if (!(await this.isToken(token))) return null;
    const id = this.#tag + randomBytes(32).toString('base64url');
    const session = { until: this.#clock.now() + OPERATOR_SESSION_MS, fingerprint: this.#secret.fingerprint };
    this.#sessions.set(id, session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MAX_OPERATOR_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
    return id;
  }

  isLoggedIn(id: string | null): boolean {
    if (id === null) return false;
    const session = this.#sessions.get(id);
    if (!session) return false;
    if (session.until > this.#clock.now() && session.fingerprint === this.#secret.fingerprint) return true;
    this.#sessions.delete(id);
    return false;
  }

  logout(id: string | null): void {
    if (id !== null) this.#sessions.delete(id);
  }
}
