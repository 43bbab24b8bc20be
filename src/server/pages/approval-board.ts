/**
 * The interface behind the approvals board; the command line uses the same one with the token itself. Decisions are POST,
 * from our own page or with the token, never GET.
 *
 * @module
 */

import { type Context, Hono } from 'hono';
import { z } from 'zod';
import { type ApprovalSystem, OPERATOR, REFUSAL_TEXTS } from '../../approval/index.ts';
import type { Clock } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import { cardView, eventView } from './board-view.ts';
import { jsonBody, type OperatorLogin } from './operator-login.ts';

export interface ApprovalBoardOptions {
  readonly approvals: ApprovalSystem;
  readonly login: OperatorLogin;
  readonly clock: Clock;
}

/** Cards on the board at most, newest first. */
export const MAX_BOARD_CARDS = 300;

const decisionSchema = z.strictObject({
  decision: z.enum(['approve', 'deny']),
  scope: z.enum(['once', 'call', 'session', 'permanent']).optional(),
  bindArguments: z.array(z.string().min(1).max(200)).max(20).optional(),
  reason: z.string().max(280).optional(),
});
const resolutionSchema = z.strictObject({ resolution: z.enum(['happened', 'did_not_happen']) });
const idSchema = z.string().regex(/^[0-9a-f]{8,32}$/);

export class ApprovalBoard {
  readonly #options: ApprovalBoardOptions;

  constructor(options: ApprovalBoardOptions) {
    this.#options = options;
  }

  routes(): Hono {
    const app = new Hono();
    app.get('/operator/api/approvals', async (c) => {
      await this.#options.login.who(c.req.raw.headers, 'read');
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
      await this.#options.login.who(c.req.raw.headers, 'read');
      const record = await this.#find(c);
      const events = await this.#options.approvals.approvals.store.listApprovalEvents(record.id);
      return c.json({ approval: cardView(record), events: events.map(eventView) });
    });
    app.post('/operator/api/approvals/:id/decision', (c) => this.#decide(c));
    app.post('/operator/api/approvals/:id/resolution', async (c) => {
      await this.#options.login.who(c.req.raw.headers, 'write');
      const record = await this.#find(c);
      const { resolution } = await jsonBody(c, resolutionSchema, this.#options.clock);
      const changed = await this.#options.approvals.approvals.resolve(record.id, resolution, OPERATOR);
      if (!changed)
        throw new VoiceError(
          'APPROVAL_REFUSED',
          'Only a run whose outcome is unknown can be closed, and once.',
        );
      return c.json({ approval: cardView(changed) });
    });
    app.get('/operator/api/grants', async (c) => {
      await this.#options.login.who(c.req.raw.headers, 'read');
      return c.json({ grants: await this.#options.approvals.approvals.store.listAllGrants(MAX_BOARD_CARDS) });
    });
    app.post('/operator/api/grants/:id/revoke', async (c) => {
      await this.#options.login.who(c.req.raw.headers, 'write');
      const id = c.req.param('id') ?? '';
      const done = await this.#options.approvals.approvals.store.revokeGrants(
        { id },
        this.#options.clock.wallNow(),
      );
      if (!done) throw new VoiceError('APPROVAL_NOT_FOUND', 'There is no such grant.');
      return c.json({ revoked: id });
    });
    app.post('/operator/api/policy/confirm', async (c) => {
      await this.#options.login.who(c.req.raw.headers, 'write');
      return c.json({ confirmed: this.#options.approvals.policy.confirm() });
    });
    return app;
  }

  async #decide(c: Context): Promise<Response> {
    const input = await this.#options.login.who(c.req.raw.headers, 'write');
    const record = await this.#find(c);
    const { decision, scope, reason, bindArguments } = await jsonBody(c, decisionSchema, this.#options.clock);
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
}
