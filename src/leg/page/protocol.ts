/**
 * What a caller's page and the call say to each other, over a WebRTC data channel or a WebSocket: JSON messages, the same
 * ones both ways round, checked with zod on both sides. `docs/reference/page-protocol.md` is its description.
 *
 * Runs in browsers too: nothing of Node's, and nothing but zod, is imported here.
 *
 * @module
 */

import { z } from 'zod';

/** Both sides say it in their first message; another number ends the talk. */
export const PAGE_PROTOCOL_VERSION = 1;
/** What a caller types at once, in characters. */
export const MAX_TYPED_CHARS = 2000;
/** What is shown of one tool's arguments or result, in characters; the rest is cut. */
export const MAX_SHOWN_CHARS = 8000;
/** Deliveries that a page says it shows already. */
export const MAX_SHOWN_IDS = 200;

const id = z.string().min(1).max(128);
const shownText = z.string().max(MAX_SHOWN_CHARS + 100);

/** An owner has the operator's login. A guest came by a link: sees no arguments or results, decides nothing. */
export const pageRoleSchema = z.enum(['owner', 'guest']);
export type PageRole = z.output<typeof pageRoleSchema>;

export const callStateSchema = z.enum([
  'listening',
  'hearing',
  'thinking',
  'working',
  'speaking',
  'asking',
  'ending',
]);

// ---- what the page is told

const welcome = z.object({
  type: z.literal('welcome'),
  v: z.literal(PAGE_PROTOCOL_VERSION),
  callId: id,
  role: pageRoleSchema,
  transport: z.enum(['webrtc', 'socket']),
  /** The call goes on where it was, on a new connection. */
  resumed: z.boolean(),
});

const state = z.object({ type: z.literal('state'), state: callStateSchema });

const transcript = z.object({
  type: z.literal('transcript'),
  role: z.enum(['user', 'assistant']),
  itemId: id,
  text: shownText,
  /** `text` goes behind what there is of this item; otherwise it is the whole so far. */
  append: z.boolean(),
  final: z.boolean(),
});

/** The agent was cut off: this is what was heard of the item. */
const heard = z.object({ type: z.literal('heard'), itemId: id, text: shownText });

const tool = z.object({
  type: z.literal('tool'),
  callId: id,
  name: z.string().max(128),
  phase: z.enum(['started', 'progress', 'ended']),
  /** JSON text; owners only. */
  args: shownText.optional(),
  /** Progress or result; owners only. */
  output: shownText.optional(),
  isError: z.boolean().optional(),
});

const latency = z.object({
  type: z.literal('latency'),
  turn: z.number(),
  latencyMs: z.number(),
  toolMs: z.number(),
});

/** A request that waits for a person, and what became of it: sent again whenever it changes. */
const approval = z.object({
  type: z.literal('approval'),
  id,
  tool: z.string().max(128),
  /** One sentence: what would happen. */
  summary: z.string().max(2000),
  status: z.enum([
    'pending',
    'approved',
    'executing',
    'executed',
    'failed',
    'unknown',
    'denied',
    'expired',
    'cancelled',
  ]),
  /** Redacted arguments as JSON text; owners only. */
  args: shownText.optional(),
  /** Buttons may be shown. */
  canDecide: z.boolean(),
  /** Ms since 1970; after it the answer is no. */
  expiresAt: z.number().nullable(),
});

/** A picture or a file. `url` is good for a few minutes and for this page's session only; the page sends a receipt. */
const media = z.object({
  type: z.literal('media'),
  id: z.string().regex(/^[\w-]{16}$/),
  segment: z.number().int(),
  kind: z.string().max(32),
  mime: z.string().max(128),
  name: z.string().max(255),
  size: z.number().int(),
  sha256: z.string().max(64),
  caption: z.string().max(2000),
  url: z.string().max(2000),
});

/** What the line is like from our side; about once in two seconds. Empty fields: not measured on this transport. */
const quality = z.object({
  type: z.literal('quality'),
  /** Of the caller's packets in the last period: lost, in percent. */
  lossPercent: z.number(),
  /** Filled in by concealment, in percent of the audio. */
  concealedPercent: z.number(),
  jitterBufferMs: z.number(),
  roundTripMs: z.number().nullable(),
});

const pong = z.object({ type: z.literal('pong'), n: z.number().int() });

/** The message of the page's was refused; the talk goes on. */
const refused = z.object({
  type: z.literal('error'),
  code: z.string().max(64),
  message: z.string().max(500),
});

/** The last message. */
const ended = z.object({ type: z.literal('ended'), reason: z.string().max(64) });

export const pageEventSchema = z.discriminatedUnion('type', [
  welcome,
  state,
  transcript,
  heard,
  tool,
  latency,
  approval,
  media,
  quality,
  pong,
  refused,
  ended,
]);
/** What the page is told. A page ignores fields it does not know, and types of a later version. */
export type PageEvent = z.output<typeof pageEventSchema>;

// ---- what the page says

const hello = z.strictObject({
  type: z.literal('hello'),
  v: z.literal(PAGE_PROTOCOL_VERSION),
  /** Deliveries that it shows already, so that nothing is shown twice. */
  shown: z
    .array(z.string().regex(/^[\w-]{16}$/))
    .max(MAX_SHOWN_IDS)
    .default([]),
});

export const pageCommandSchema = z.discriminatedUnion('type', [
  hello,
  /** The caller typed something; it is a turn of theirs. */
  z.strictObject({ type: z.literal('text'), text: z.string().trim().min(1).max(MAX_TYPED_CHARS) }),
  z.strictObject({ type: z.literal('dtmf'), digit: z.string().regex(/^[0-9*#A-D]$/) }),
  z.strictObject({
    type: z.literal('approval.decide'),
    id: z.string().regex(/^[0-9a-f]{32}$/),
    approve: z.boolean(),
    scope: z.enum(['once', 'call', 'session']).default('once'),
  }),
  z.strictObject({ type: z.literal('media.receipt'), id: z.string().regex(/^[\w-]{16}$/) }),
  /** The caller turned their microphone off or on. */
  z.strictObject({ type: z.literal('mute'), muted: z.boolean() }),
  z.strictObject({ type: z.literal('ping'), n: z.int().min(0) }),
  z.strictObject({ type: z.literal('hangup') }),
]);
export type PageCommand = z.output<typeof pageCommandSchema>;
export type PageCommandInput = z.input<typeof pageCommandSchema>;
