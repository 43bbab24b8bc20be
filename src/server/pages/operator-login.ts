/**
 * The operator's login over HTTP: who asks, and how they showed it. Whatever changes something and comes with a cookie
 * comes from a page of ours.
 *
 * @module
 */

import { type Context, Hono } from 'hono';
import { z } from 'zod';
import type { OperatorSecret } from '../../approval/index.ts';
import type { Clock } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import { readBody } from '../body.ts';
import type { BrowserGuard } from './browser-guard.ts';
import { OPERATOR_SESSION_MS, OperatorSessions } from './operator-sessions.ts';

interface Headers {
  get(name: string): string | null;
}

const COOKIE = 'nanobot_operator';
/** A guest's, see `page/page-access.ts`. */
export const PAGE_COOKIE = 'nanobot_page';
const tokenSchema = z.strictObject({ token: z.string().max(200) });

export class OperatorLogin {
  readonly sessions: OperatorSessions;
  readonly #guard: BrowserGuard;
  readonly #clock: Clock;
  readonly #isOneOfMany: boolean;

  constructor(options: { secret: OperatorSecret; guard: BrowserGuard; clock: Clock; tag?: string }) {
    this.#guard = options.guard;
    this.#clock = options.clock;
    this.sessions = new OperatorSessions(options.secret, options.clock, options.tag);
    this.#isOneOfMany = (options.tag ?? '') !== '';
  }

  /** The login of a request's cookie, or `null`. */
  sessionOf(headers: Headers): string | null {
    const cookie = headers.get('cookie') ?? '';
    const match = cookie
      .split(/;\s*/)
      .map((each) => /^(?:__Host-)?nanobot_operator=([\w-]{43,44})$/.exec(each)?.[1])
      .find((each) => each !== undefined);
    return match !== undefined && this.sessions.isLoggedIn(match) ? match : null;
  }

  /** @returns how the operator showed who they are @throws VoiceError `OPERATOR_AUTH_REQUIRED`, `ORIGIN_REFUSED` */
  async who(headers: Headers, access: 'read' | 'write'): Promise<'page' | 'command_line'> {
    const bearer = bearerOf(headers);
    if (bearer !== null) {
      if (await this.sessions.isToken(bearer)) return 'command_line';
      throw new VoiceError('OPERATOR_AUTH_REQUIRED', 'That is not the operator’s token.');
    }
    if (this.sessionOf(headers) === null)
      throw new VoiceError('OPERATOR_AUTH_REQUIRED', 'Log in at /operator.');
    if (access === 'write' && !this.#guard.isOurOrigin(headers)) throw fromElsewhere();
    return 'page';
  }

  routes(): Hono {
    const app = new Hono();
    app.use('/operator/*', (c, next) => guarded(this.#guard, c, next));
    app.post('/operator/login', (c) => this.#login(c));
    app.post('/operator/logout', (c) => this.#logout(c));
    return app;
  }

  async #login(c: Context): Promise<Response> {
    if (!this.#guard.isOurOrigin(c.req.raw.headers)) throw fromElsewhere();
    if (this.sessions.isLocked)
      throw new VoiceError('TOO_MANY_CONNECTIONS', 'Too many wrong tokens; try again in a minute.');
    const isJson = isJsonBody(c);
    const text = Buffer.from(await readBody(c.req.raw, this.#clock)).toString('utf8');
    const token = isJson
      ? parseJson(text, tokenSchema).token
      : (new URLSearchParams(text).get('token') ?? '');
    const id = await this.sessions.login(token.trim());
    if (id === null) throw new VoiceError('OPERATOR_AUTH_REQUIRED', 'That is not the operator’s token.');
    c.header('set-cookie', hostCookie(COOKIE, id, OPERATOR_SESSION_MS / 1000, this.#guard.isSecure));
    // A guest's old cookie would lead to the worker where that guest was, which knows nothing of this login.
    if (this.#isOneOfMany)
      c.header('set-cookie', hostCookie(PAGE_COOKIE, '', 0, this.#guard.isSecure), { append: true });
    return isJson ? c.json({ role: 'owner' }) : c.redirect('../operator', 303);
  }

  #logout(c: Context): Response {
    if (!this.#guard.isOurOrigin(c.req.raw.headers)) throw fromElsewhere();
    this.sessions.logout(this.sessionOf(c.req.raw.headers));
    c.header('set-cookie', hostCookie(COOKIE, '', 0, this.#guard.isSecure));
    const isForm = /^application\/x-www-form-urlencoded\b/.test(c.req.raw.headers.get('content-type') ?? '');
    return isForm ? c.redirect('../operator', 303) : c.body(null, 204);
  }
}

/** Headers of whatever a page of ours gets, its own files apart. */
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

/** Nothing is answered under a host name that is not ours. */
export async function guarded(guard: BrowserGuard, c: Context, next: () => Promise<void>): Promise<void> {
  if (!guard.isOurHost(c.req.raw.headers.get('host')))
    throw new VoiceError('ORIGIN_REFUSED', 'The pages are not open under this host name (page.hosts).');
  await next();
  for (const [name, value] of Object.entries(SECURITY_HEADERS))
    if (!c.res.headers.has(name)) c.res.headers.set(name, value);
}

/** `__Host-` binds a cookie to this host and to HTTPS; without HTTPS browsers refuse that name. */
export function hostCookie(name: string, value: string, maxAgeS: number, isSecure: boolean): string {
  const full = isSecure ? `__Host-${name}` : name;
  return `${full}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeS}${isSecure ? '; Secure' : ''}`;
}

export function bearerOf(headers: Headers): string | null {
  return /^Bearer ([\w-]{20,200})$/i.exec(headers.get('authorization') ?? '')?.[1] ?? null;
}

export function isJsonBody(c: Context): boolean {
  return /^application\/json\b/.test(c.req.raw.headers.get('content-type') ?? '');
}

/** @throws VoiceError `REQUEST_INVALID`, and what `readBody` throws */
export async function jsonBody<T>(c: Context, schema: z.ZodType<T>, clock: Clock): Promise<T> {
  if (!isJsonBody(c)) throw new VoiceError('REQUEST_INVALID', 'The body is to be application/json.');
  return parseJson(Buffer.from(await readBody(c.req.raw, clock)).toString('utf8'), schema);
}

function parseJson<T>(text: string, schema: z.ZodType<T>): T {
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new VoiceError('REQUEST_INVALID', 'The body is not what this address takes.', { cause });
  }
}

export const fromElsewhere = () =>
  new VoiceError('ORIGIN_REFUSED', 'This is taken from a page of our own only.');
