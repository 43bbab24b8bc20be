/**
 * Mattermost: an attachment with buttons out, the button's context back. Mattermost signs nothing, so the context carries
 * our own MAC, which users can't see (developers.mattermost.com, "Interactive messages").
 *
 * @module
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { ApprovalRow } from '../../store/index.ts';
import { cardFacts, cardTitle, type WebhookDecision } from './decision.ts';

/** Where a button's press comes in. */
export const MATTERMOST_PATH = '/approvals/hooks/mattermost';

/** Bound to the request, the decision and its time: a context of one button is none of another. */
export function mattermostSignature(secret: string, id: string, decision: string, expires: number): string {
  return createHmac('sha256', secret).update(`${id}|${decision}|${expires}`).digest('hex');
}

export function mattermostCard(record: ApprovalRow, assignee: string, secret: string, base: string | null) {
  const action = (name: string, decision: 'approve' | 'deny') => ({
    id: decision,
    type: 'button',
    name,
    style: decision === 'approve' ? 'primary' : 'danger',
    integration: {
      url: `${base ?? ''}${MATTERMOST_PATH}`,
      context: {
        id: record.id,
        decision,
        expires: record.expiresAt,
        sig: mattermostSignature(secret, record.id, decision, record.expiresAt),
      },
    },
  });
  return {
    text: cardTitle(record, assignee),
    attachments: [
      {
        fallback: cardTitle(record, assignee),
        fields: cardFacts(record).map(([title, value]) => ({
          title,
          value: value.replace(/([*_`~|[\]#>])/g, '\\$1'),
          short: false,
        })),
        // Without an address of ours there is nothing a button could call.
        actions: base === null ? [] : [action('Approve', 'approve'), action('Deny', 'deny')],
      },
    ],
  };
}

const callbackSchema = z.object({
  user_id: z.string().min(1).max(64),
  post_id: z.string().max(64).optional(),
  context: z.object({
    id: z.string().regex(/^[0-9a-f]{32}$/),
    decision: z.enum(['approve', 'deny']),
    expires: z.number(),
    sig: z.string(),
  }),
});

/** Reads and verifies a button's press with any of the secrets. `null`: not ours, forged, or too late. */
export function readMattermost(
  rawBody: string,
  secrets: readonly string[],
  nowMs: number,
): WebhookDecision | null {
  let value: unknown;
  try {
    value = JSON.parse(rawBody);
  } catch {
    return null;
  }
  const parsed = callbackSchema.safeParse(value);
  if (!parsed.data || parsed.data.context.expires <= nowMs) return null;
  const { context, user_id, post_id } = parsed.data;
  const given = Buffer.from(context.sig);
  const isOurs = secrets.some((secret) => {
    const expected = Buffer.from(mattermostSignature(secret, context.id, context.decision, context.expires));
    return expected.length === given.length && timingSafeEqual(expected, given);
  });
  if (!isOurs) return null;
  return {
    user: `mattermost:${user_id}`,
    id: context.id,
    approve: context.decision === 'approve',
    replayKey: `mattermost:${context.id}:${context.decision}:${post_id ?? ''}`,
  };
}
