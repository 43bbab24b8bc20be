/**
 * What the operator's interface answers (docs/reference/page-http.md), as this page uses it.
 *
 * @module
 */

import { z } from 'zod';
import type { CallRecord } from '../../src/observe/call-record.ts';

const ms = z.number();

export const callSchema = z.object({
  id: z.string(),
  carrier: z.string(),
  provider: z.string(),
  identity: z.string(),
  startedAt: ms,
  endedAt: ms.nullable(),
  endReason: z.string().nullable(),
  hasRecord: z.boolean(),
  hasAudio: z.boolean(),
});
export type CallInfo = z.output<typeof callSchema>;

export const callsSchema = z.object({ calls: z.array(callSchema), next: ms.nullable() });

const turnSchema = z.object({
  turn: z.number(),
  startedAt: ms,
  userText: z.string().nullable(),
  assistantText: z.string().nullable(),
  tools: z.array(
    z.object({
      callId: z.string(),
      name: z.string(),
      args: z.string(),
      output: z.string(),
      isError: z.boolean(),
    }),
  ),
  final: z.boolean(),
});
export type Turn = z.output<typeof turnSchema>;

/** The record comes from our own gateway, written by the version that serves this page: its frame is checked. */
const recordSchema = z.custom<CallRecord>((value) => {
  const frame = z.object({
    version: z.literal(1),
    durationMs: ms,
    endReason: z.string(),
    events: z.array(z.object({ type: z.string(), atMs: ms })),
    latencies: z.array(z.object({ latencyMs: ms })),
  });
  return frame.safeParse(value).success;
});

export const callDetailSchema = z.object({
  call: callSchema,
  turns: z.array(turnSchema),
  record: recordSchema.nullable(),
  audio: z.boolean(),
});
export type CallDetail = z.output<typeof callDetailSchema>;

const percentiles = z.object({ p50: ms.nullable(), p90: ms.nullable(), p99: ms.nullable() });
const figuresSchema = percentiles.extend({ n: z.number(), own: percentiles, calls: z.number() });
export type Figures = z.output<typeof figuresSchema>;

export const latencySchema = z.object({
  since: ms,
  turns: figuresSchema,
  byCarrier: z.record(z.string(), figuresSchema),
});

export const deliverySchema = z.object({
  id: z.string(),
  call: z.string(),
  turn: z.number(),
  segment: z.number(),
  state: z.enum(['pending', 'sending', 'sent', 'retryable', 'dead_letter', 'unknown']),
  kind: z.string(),
  route: z.string(),
  attempts: z.number(),
  why: z.string().nullable(),
  createdAt: ms,
  finishedAt: ms.nullable(),
  canRetry: z.boolean(),
  canDrop: z.boolean(),
});
export type Delivery = z.output<typeof deliverySchema>;
export const deliveriesSchema = z.object({ deliveries: z.array(deliverySchema) });

export const statusSchema = z.object({
  ready: z.boolean(),
  draining: z.boolean(),
  checks: z.record(z.string(), z.string()),
  version: z.string(),
  startedAt: ms,
  calls: z.object({ live: z.number(), pending: z.number(), max: z.number(), page: z.number() }),
  configured: z.array(
    z.object({ name: z.string(), state: z.enum(['ok', 'off', 'failed']), text: z.string() }),
  ),
});
export type Status = z.output<typeof statusSchema>;

export const sessionSchema = z.object({
  role: z.literal('owner'),
  has: z.object({ approvals: z.boolean(), media: z.boolean(), records: z.boolean() }),
});
export type OperatorSession = z.output<typeof sessionSchema>;

const link = z.object({ id: z.string(), note: z.string().nullish(), createdAt: ms, expiresAt: ms });
const guest = z.object({
  id: z.string(),
  note: z.string().nullish(),
  since: ms,
  until: ms,
  call: z.string().nullable(),
});
export const linksSchema = z.object({ links: z.array(link), guests: z.array(guest) });
export const newLinkSchema = z.object({ url: z.string(), expiresAt: ms });

// ---- the approvals board

export const approvalSchema = z.object({
  id: z.string(),
  tool: z.string(),
  summary: z.string(),
  column: z.string(),
  arguments: z.unknown(),
  requester: z.string().nullable(),
  callId: z.string().nullable(),
  createdAt: ms,
  expiresAt: ms,
  decidedAt: ms.nullable(),
  decidedBy: z.string().nullable(),
  decidedInput: z.string().nullable(),
  reason: z.string().nullable(),
  grantScope: z.string().nullable(),
  outcome: z.string().nullable(),
  resolution: z.string().nullable(),
});
export type Approval = z.output<typeof approvalSchema>;

export const boardSchema = z.object({
  approvals: z.array(approvalSchema),
  policy: z.object({ version: z.string(), editWaits: z.boolean(), editBroken: z.boolean() }),
});

const grantSchema = z.object({
  id: z.string(),
  tool: z.string(),
  scope: z.string(),
  scopeKey: z.string(),
  args: z.string(),
  createdAt: ms,
  createdBy: z.string(),
});
export type Grant = z.output<typeof grantSchema>;
export const grantsSchema = z.object({ grants: z.array(grantSchema) });

export const approvalAnswer = z.object({ approval: approvalSchema });

/** What the board's buttons send. */
export type BoardAction =
  | {
      readonly decision: 'approve' | 'deny';
      readonly scope?: 'once' | 'call' | 'session' | 'permanent';
      readonly bindArguments?: readonly string[];
      readonly reason?: string;
    }
  | { readonly resolution: 'happened' | 'did_not_happen' };
