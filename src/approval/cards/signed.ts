/**
 * A plain signed webhook, out and in, for anything else: `webhook-id`, `webhook-timestamp`, `webhook-signature` as Standard
 * Webhooks has them, with HMAC-SHA256 over `id.timestamp.body`.
 *
 * @module
 */

import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { ApprovalRow } from '../../store/index.ts';
import type { WebhookDecision } from './decision.ts';

export const SIGNED_TOLERANCE_S = 300;

export function sign(secret: string, id: string, timestamp: string, body: string): string {
  return `v1,${createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`).digest('base64')}`;
}

export function signedCard(record: ApprovalRow, assignee: string, secret: string, nowMs: number) {
  const body = JSON.stringify({
    type: 'approval.pending',
    id: record.id,
    tool: record.tool,
    summary: record.summary,
    arguments: JSON.parse(record.argsShown) as unknown,
    argumentsSha256: record.argsHash,
    assignee,
    createdAt: record.createdAt,
    expiresAt: record.expiresAt,
  });
  const id = `msg_${randomBytes(12).toString('hex')}`;
  const timestamp = String(Math.floor(nowMs / 1000));
  return {
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': sign(secret, id, timestamp, body),
    },
    body,
  };
}

const bodySchema = z.strictObject({
  id: z.string().regex(/^[0-9a-f]{32}$/),
  decision: z.enum(['approve', 'deny']),
  by: z.string().min(1).max(64),
  reason: z.string().max(280).optional(),
});

/** Reads and verifies a decision. `null`: forged, old, or not one. */
export function readSigned(
  headers: { get(name: string): string | null },
  rawBody: string,
  secrets: readonly string[],
  nowMs: number,
): WebhookDecision | null {
  const id = headers.get('webhook-id') ?? '';
  const timestamp = headers.get('webhook-timestamp') ?? '';
  const given = (headers.get('webhook-signature') ?? '')
    .split(' ')
    .slice(0, 8)
    .map((each) => Buffer.from(each));
  if (id === '' || id.length > 128 || !/^\d{1,12}$/.test(timestamp)) return null;
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > SIGNED_TOLERANCE_S) return null;
  const isOurs = secrets.some((secret) => {
    const expected = Buffer.from(sign(secret, id, timestamp, rawBody));
    return given.some((each) => each.length === expected.length && timingSafeEqual(each, expected));
  });
  if (!isOurs) return null;
  let value: unknown;
  try {
    value = JSON.parse(rawBody);
  } catch {
    return null;
  }
  const parsed = bodySchema.safeParse(value);
  if (!parsed.data) return null;
  const { by, decision, reason } = parsed.data;
  return {
    user: `signed:${by}`,
    id: parsed.data.id,
    approve: decision === 'approve',
    replayKey: `signed:${id}`,
    ...(reason === undefined ? {} : { reason }),
  };
}
