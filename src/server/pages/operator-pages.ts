/**
 * The operator's page and the interface behind it; the command line uses the same one with the token itself. Decisions are
 * POST, from our own page or with the token, never GET.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { type ApprovalSystem, OPERATOR, type OperatorSecret, REFUSAL_TEXTS } from '../../approval/index.ts';
import type { Clock } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import { readBody } from '../body.ts';
import { cardView, eventView } from './board-view.ts';
import type { BrowserGuard } from './browser-guard.ts';
import { OPERATOR_SESSION_MS, OperatorSessions } from './operator-sessions.ts';

export interface OperatorPagesOptions {
  readonly approvals: ApprovalSystem;
  readonly secret: OperatorSecret;
  readonly guard: BrowserGuard;
  readonly clock: Clock;
}

/** Cards on the board at most, newest first. */
export const MAX_BOARD_CARDS = 300;

const COOKIE = 'nanobot_operator';
const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
};

const decisionSchema = z.strictObject({
  decision: z.enum(['approve', 'deny']),
  scope: z.enum(['once', 'call', 'session', 'permanent']).optional(),
  bindArguments: z.array(z.string().min(1).max(200)).max(20).optional(),
  reason: z.string().max(280).optional(),
});
const resolutionSchema = z.strictObject({ resolution: z.enum(['happened', 'did_not_happen']) });
const idSchema = z.string().regex(/^[0-9a-f]{8,32}$/);

const asset = (name: string) =>
  readFileSync(new URL(`../../../assets/operator/${name}`, import.meta.url), 'utf8');

export class OperatorPages {
  readonly sessions: OperatorSessions;
  readonly #options: OperatorPagesOptions;

  constructor(options: OperatorPagesOptions) {
    this.#options = options;
    this.sessions = new OperatorSessions(options.secret, options.clock);
  }

  /** The login of a request's cookie, or `null`. */
  sessionOf(headers: { get(name: string): string | null }): string | null {
    const cookie = headers.get('cookie') ?? '';
    const match = cookie
      .split(/;\s*/)
      .map((each) => /^(?:__Host-)?nanobot_operator=([\w-]{43})$/.exec(each)?.[1])
      .find((each) => each !== undefined);
    return match !== undefined && this.sessions.isLoggedIn(match) ? match : null;
  }

  routes(): Hono {
    const app = new Hono();
    app.use('/operator/*', (c, next) => this.#guarded(c, next));
    app.use('/operator', (c, next) => this.#guarded(c, next));
    app.get('/operator', (c) =>
      c.html(asset(this.sessionOf(c.req.raw.headers) === null ? 'login.html' : 'board.html')),
    );
    app.get('/operator/board.js', (c) =>
      c.body(asset('board.js'), 200, { 'content-type': 'text/javascript; charset=utf-8' }),
    );
    app.get('/operator/board.css', (c) =>
      c.body(asset('board.css'), 200, { 'content-type': 'text/css; charset=utf-8' }),
    );
    app.post('/operator/login', (c) => this.#login(c));
    app.post('/operator/logout', (c) => this.#logout(c));

    app.get('/operator/api/approvals', async (c) => {
      await this.#who(c, 'read');
      const { store } = this.#options.approvals.approvals;
      const all = c.req.query('all') !== undefined;
      const records = await store.listApprovals(
        all
          ? { limit: MAX_BOARD_CARDS }
          : { status: ['pending', 'approved', 'executing', 'unknown'], limit: MAX_BOARD_CARDS },
      );
      const { policy } = this.#options.approvals;
      return c.json({
        approvals: records.map(cardView),
        policy: { version: policy.current.version, editWaits: policy.isWaiting, editBroken: policy.isBroken },
      });
    });
    app.get('/operator/api/approvals/:id', async (c) => {
      await this.#who(c, 'read');
      const record = await this.#find(c);
      const events = await this.#options.approvals.approvals.store.listApprovalEvents(record.id);
      return c.json({ approval: cardView(record), events: events.map(eventView) });
    });
    app.post('/operator/api/approvals/:id/decision', (c) => this.#decide(c));
    app.post('/operator/api/approvals/:id/resolution', async (c) => {
      await this.#who(c, 'write');
      const record = await this.#find(c);
      const { resolution } = await this.#json(c, resolutionSchema);
      const changed = await this.#options.approvals.approvals.resolve(record.id, resolution, OPERATOR);
      if (!changed)
        throw new VoiceError(
          'APPROVAL_REFUSED',
          'Only a run whose outcome is unknown can be closed, and once.',
        );
      return c.json({ approval: cardView(changed) });
    });
    app.get('/operator/api/grants', async (c) => {
      await this.#who(c, 'read');
      return c.json({ grants: await this.#options.approvals.approvals.store.listAllGrants(MAX_BOARD_CARDS) });
    });
    app.post('/operator/api/grants/:id/revoke', async (c) => {
      await this.#who(c, 'write');
      const id = c.req.param('id') ?? '';
      const done = await this.#options.approvals.approvals.store.revokeGrants(
        { id },
        this.#options.clock.wallNow(),
      );
      if (!done) throw new VoiceError('APPROVAL_NOT_FOUND', 'There is no such grant.');
      return c.json({ revoked: id });
    });
    app.post('/operator/api/policy/confirm', async (c) => {
      await this.#who(c, 'write');
      return c.json({ confirmed: this.#options.approvals.policy.confirm() });
    });
    return app;
  }

  async #guarded(c: Context, next: () => Promise<void>): Promise<void> {
    if (!this.#options.guard.isOurHost(c.req.raw.headers.get('host'))) {
      throw new VoiceError(
        'ORIGIN_REFUSED',
        'These pages are not open under this host name (approvals.pageHosts).',
      );
    }
    await next();
    for (const [name, value] of Object.entries(SECURITY_HEADERS)) c.res.headers.set(name, value);
  }

  async #login(c: Context): Promise<Response> {
    const { guard, clock } = this.#options;
    if (!guard.isOurOrigin(c.req.raw.headers)) throw fromElsewhere();
    if (this.sessions.isLocked)
      throw new VoiceError('TOO_MANY_CONNECTIONS', 'Too many wrong tokens; try again in a minute.');
    const form = new URLSearchParams(Buffer.from(await readBody(c.req.raw, clock)).toString('utf8'));
    const id = await this.sessions.login((form.get('token') ?? '').trim());
    if (id === null) throw new VoiceError('OPERATOR_AUTH_REQUIRED', 'That is not the operator’s token.');
    c.header('set-cookie', this.#cookie(id, OPERATOR_SESSION_MS / 1000));
    return c.redirect('../operator', 303);
  }

  #logout(c: Context): Response {
    if (!this.#options.guard.isOurOrigin(c.req.raw.headers)) throw fromElsewhere();
    this.sessions.logout(this.sessionOf(c.req.raw.headers));
    c.header('set-cookie', this.#cookie('', 0));
    return c.redirect('../operator', 303);
  }

  /** `__Host-` binds a cookie to this host and to HTTPS; without HTTPS browsers refuse that name. */
  #cookie(value: string, maxAgeS: number): string {
    const { isSecure } = this.#options.guard;
    const name = isSecure ? `__Host-${COOKIE}` : COOKIE;
    return `${name}=${value}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAgeS}${isSecure ? '; Secure' : ''}`;
  }

  /** @returns how the operator showed who they are @throws VoiceError `OPERATOR_AUTH_REQUIRED`, `ORIGIN_REFUSED` */
  async #who(c: Context, access: 'read' | 'write'): Promise<'page' | 'command_line'> {
    const { headers } = c.req.raw;
    const bearer = /^Bearer ([\w-]{20,200})$/.exec(headers.get('authorization') ?? '')?.[1];
    if (bearer !== undefined) {
      if (await this.sessions.isToken(bearer)) return 'command_line';
      throw new VoiceError('OPERATOR_AUTH_REQUIRED', 'That is not the operator’s token.');
    }
    if (this.sessionOf(headers) === null)
      throw new VoiceError('OPERATOR_AUTH_REQUIRED', 'Log in at /operator.');
    if (access === 'write' && !this.#options.guard.isOurOrigin(headers)) throw fromElsewhere();
    return 'page';
  }

  async #decide(c: Context): Promise<Response> {
    const input = await this.#who(c, 'write');
    const record = await this.#find(c);
    const { decision, scope, reason, bindArguments } = await this.#json(c, decisionSchema);
    const result = await this.#options.approvals.approvals.decide({
      id: record.id,
      approve: decision === 'approve',
      by: OPERATOR,
      input,
      ...(scope === undefined ? {} : { scope }),
      ...(reason === undefined ? {} : { reason }),
      ...(bindArguments === undefined ? {} : { bindArguments }),
    });
    if (!result.ok) throw new VoiceError('APPROVAL_REFUSED', REFUSAL_TEXTS[result.why]);
    return c.json({ approval: cardView(result.record) });
  }

  async #find(c: Context) {
    const id = idSchema.safeParse(c.req.param('id'));
    const record = id.success ? await this.#options.approvals.find(id.data) : null;
    if (!record)
      throw new VoiceError('APPROVAL_NOT_FOUND', 'There is no such request, or more than one begins so.');
    return record;
  }

  async #json<T>(c: Context, schema: z.ZodType<T>): Promise<T> {
    if (!/^application\/json\b/.test(c.req.raw.headers.get('content-type') ?? ''))
      throw new VoiceError('REQUEST_INVALID', 'The body is to be application/json.');
    const text = Buffer.from(await readBody(c.req.raw, this.#options.clock)).toString('utf8');
    try {
      return schema.parse(JSON.parse(text));
    } catch (cause) {
      throw new VoiceError('REQUEST_INVALID', 'The body is not what this address takes.', { cause });
    }
  }
}

const fromElsewhere = () =>
  new VoiceError('ORIGIN_REFUSED', 'Decisions are taken from the operator’s own page only.');
