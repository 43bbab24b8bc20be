/**
 * Decisions that come in by webhook. Nothing is taken without a signature, nothing twice, and nothing from a user whom the
 * config does not list.
 *
 * @module
 */

import { type Context, Hono } from 'hono';
import {
  type ApprovalSystem,
  MATTERMOST_PATH,
  REFUSAL_TEXTS,
  readMattermost,
  readSigned,
  readSlack,
  verifySlack,
  type WebhookDecision,
} from '../../approval/index.ts';
import type { Clock } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import { readBody } from '../body.ts';

export class ApprovalHooks {
  readonly #approvals: ApprovalSystem;
  readonly #clock: Clock;

  constructor(approvals: ApprovalSystem, clock: Clock) {
    this.#approvals = approvals;
    this.#clock = clock;
  }

  routes(): Hono {
    const app = new Hono();
    app.post('/approvals/hooks/slack', async (c) => {
      const secrets = this.#secrets('slack');
      const body = await this.#body(c);
      const isSigned = secrets.some((secret) =>
        verifySlack(c.req.raw.headers, body, secret, this.#clock.wallNow()),
      );
      if (!isSigned) throw unsigned();
      const answer = await this.#decide(readSlack(body));
      return c.json({ response_type: 'ephemeral', replace_original: false, text: answer });
    });
    app.post(MATTERMOST_PATH, async (c) => {
      const decision = readMattermost(
        await this.#body(c),
        this.#secrets('mattermost'),
        this.#clock.wallNow(),
      );
      if (!decision) throw unsigned();
      return c.json({ ephemeral_text: await this.#decide(decision) });
    });
    app.post('/approvals/hooks/signed', async (c) => {
      const body = await this.#body(c);
      const decision = readSigned(c.req.raw.headers, body, this.#secrets('signed'), this.#clock.wallNow());
      if (!decision) throw unsigned();
      return c.json({ result: await this.#decide(decision) });
    });
    return app;
  }

  /** @throws VoiceError `ROUTE_NOT_FOUND` when the config has no such webhook */
  #secrets(kind: 'slack' | 'mattermost' | 'signed'): string[] {
    const { webhooks } = this.#approvals.policy.current.config.deferred.card;
    const secrets = webhooks.flatMap((each) =>
      each.kind !== kind ? [] : [each.kind === 'slack' ? each.signingSecret : each.secret],
    );
    if (secrets.length === 0) throw new VoiceError('ROUTE_NOT_FOUND', 'There is nothing at this address.');
    return secrets;
  }

  async #body(c: Context): Promise<string> {
    return Buffer.from(await readBody(c.req.raw, this.#clock)).toString('utf8');
  }

  async #decide(decision: WebhookDecision | null): Promise<string> {
    if (!decision) throw new VoiceError('REQUEST_INVALID', 'That is no decision.');
    const { approvers } = this.#approvals.policy.current.config;
    const approver = approvers.find(({ webhookUsers }) => webhookUsers.includes(decision.user));
    if (!approver) return REFUSAL_TEXTS.not_an_approver;
    if (!(await this.#approvals.hookMemory.isNew(decision))) return REFUSAL_TEXTS.already_decided;
    const result = await this.#approvals.approvals.decide({
      id: decision.id,
      approve: decision.approve,
      by: approver.name,
      input: 'webhook',
      sender: decision.user,
      ...(decision.reason === undefined ? {} : { reason: decision.reason }),
    });
    if (!result.ok) return REFUSAL_TEXTS[result.why];
    return decision.approve ? 'Approved. It runs now.' : 'Denied. Nothing runs.';
  }
}

const unsigned = () => new VoiceError('SIGNATURE_INVALID', 'The message is not signed as it should be.');
