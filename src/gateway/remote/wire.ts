/**
 * What travels over the bridge, checked where it comes in. Described in docs/reference/bridge.md.
 *
 * @module
 */

import { z } from 'zod';

export const PROTOCOL_VERSION = 1;

const text = z.string();
const plain = z.record(z.string(), z.unknown());

export const nothing = z.looseObject({});

export const toolAccessSchema = z.object({
  requested: z.enum(['full', 'public', 'delegate']),
  level: z.enum(['full', 'public', 'delegate', 'none']),
  gate: z.boolean(),
  note: text.optional(),
});

export const initializeSchema = z.object({
  protocol: z.number(),
  config: plain,
  workspace: text.min(1),
  dataDir: text.min(1),
  channel: text.min(1),
  host: z.object({
    name: text,
    version: text,
    persona: text.nullish(),
    model: text.nullish(),
    unifiedSession: z.boolean().nullish(),
    channels: z.array(text).nullish(),
  }),
  toolAccess: toolAccessSchema,
  mediaRoots: z.array(text.min(1)).nullish(),
});

export const toolListSchema = z.object({
  definitions: z.array(
    z.object({
      type: z.literal('function'),
      function: z.object({
        name: text.min(1),
        description: text.nullish().transform((each) => each ?? ''),
        parameters: plain.nullish().transform((each) => each ?? { type: 'object', properties: {} }),
      }),
    }),
  ),
});

export const executeResultSchema = z.object({
  output: z.union([text, z.array(plain)]),
  isError: z.boolean(),
});

export const configChangedSchema = z.object({ config: plain });

export const progressSchema = z.object({ executionId: text, text });

export const gateCheckSchema = z.object({
  executionId: text.nullish(),
  sessionKey: text,
  channel: text,
  chatId: text,
  senderId: text.nullish(),
  toolCallId: text.nullish(),
  request: text.nullish(),
  call: text.nullish(),
  name: text.min(1),
  arguments: plain,
});

export const decideSchema = z.object({ channel: text, senderId: text, chatId: text, content: text });

export const outboundSchema = z.object({
  chatId: text,
  content: text,
  media: z.array(text).nullish(),
  metadata: plain.nullish(),
  kind: z.enum(['final', 'progress', 'other']),
});

export const deltaSchema = z.object({
  chatId: text,
  text,
  streamId: text.nullish(),
  end: z.boolean().nullish(),
  resuming: z.boolean().nullish(),
  mergeNext: z.boolean().nullish(),
  metadata: plain.nullish(),
});

export const appendResultSchema = z.object({ appended: z.boolean() });

export const historyResultSchema = z.object({
  items: z.array(z.object({ role: z.enum(['user', 'assistant']), text })),
});

export const allowedResultSchema = z.object({ allowed: z.boolean() });

export const shutdownSchema = z.object({ drainMs: z.number().min(0).nullish() });

export type Initialize = z.output<typeof initializeSchema>;
export type ToolAccess = z.output<typeof toolAccessSchema>;
export type GateCheck = z.output<typeof gateCheckSchema>;
export type Decide = z.output<typeof decideSchema>;
export type Outbound = z.output<typeof outboundSchema>;
export type Delta = z.output<typeof deltaSchema>;
