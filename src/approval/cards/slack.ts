/**
 * Slack: a message with buttons out, a signed interaction in (docs.slack.dev, "Verifying requests", "Block actions").
 *
 * @module
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { ApprovalRow } from '../../store/index.ts';
import { cardFacts, cardTitle, type WebhookDecision } from './decision.ts';

/** Slack's own bound; ours is two-sided. */
export const SLACK_TOLERANCE_S = 300;

/** Only the opaque id is in a button's value; who may decide is looked up here. */
export function slackCard(record: ApprovalRow, assignee: string) {
  const facts = cardFacts(record).map(([name, value]) => `*${name}:* ${escapeText(value)}`);
  const button = (text: string, action: string, style: 'primary' | 'danger') => ({
    type: 'button',
    text: { type: 'plain_text', text },
    style,
    action_id: action,
    value: record.id,
  });
  return {
    text: cardTitle(record, assignee),
    blocks: [
      { type: 'header', text: { type: 'plain_text', text: cardTitle(record, assignee).slice(0, 150) } },
      { type: 'section', text: { type: 'mrkdwn', text: facts.join('\n').slice(0, 2900) } },
      {
        type: 'actions',
        elements: [button('Approve', 'approve', 'primary'), button('Deny', 'deny', 'danger')],
      },
    ],
  };
}

const escapeText = (text: string) =>
  text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('*', '∗')
    .replaceAll('`', 'ˋ');

/** `v0=` and the hex HMAC-SHA256 of `v0:<timestamp>:<raw body>`; old and future timestamps are refused. */
export function verifySlack(
  headers: { get(name: string): string | null },
  rawBody: string,
  secret: string,
  nowMs: number,
): boolean {
  const timestamp = headers.get('x-slack-request-timestamp') ?? '';
  const signature = headers.get('x-slack-signature') ?? '';
  if (!/^\d{1,12}$/.test(timestamp)) return false;
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > SLACK_TOLERANCE_S) return false;
  const expected = `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${rawBody}`).digest('hex')}`;
  return (
    expected.length === signature.length && timingSafeEqual(Buffer.from(expected), Buffer.from(signature))
  );
}

const payloadSchema = z.object({
  type: z.literal('block_actions'),
  user: z.object({ id: z.string().min(1), team_id: z.string().optional() }),
  team: z.object({ id: z.string().min(1) }).nullish(),
  actions: z
    .array(
      z.object({
        action_id: z.enum(['approve', 'deny']),
        value: z.string().regex(/^[0-9a-f]{32}$/),
        action_ts: z.string(),
      }),
    )
    .length(1),
});

/** Reads a verified body. `null`: no button of ours. */
export function readSlack(rawBody: string): WebhookDecision | null {
  const payload = new URLSearchParams(rawBody).get('payload');
  if (payload === null) return null;
  let value: unknown;
  try {
    value = JSON.parse(payload);
  } catch {
    return null;
  }
  const parsed = payloadSchema.safeParse(value);
  const action = parsed.data?.actions[0];
  if (!parsed.data || !action) return null;
  const team = parsed.data.team?.id ?? parsed.data.user.team_id;
  if (team === undefined) return null;
  return {
    user: `slack:${team}/${parsed.data.user.id}`,
    id: action.value,
    approve: action.action_id === 'approve',
    replayKey: `slack:${action.value}:${action.action_ts}`,
  };
}
