/**
 * `channels.realtime.approvals`: which tools wait for a person, who may decide, and how they are asked. Strict: a
 * mistake here stops the start, because a gate must not fail open.
 *
 * @module
 */

import { z } from 'zod';

/** An exact tool name, or a case-sensitive glob (`delete_*`); blank text would match nothing and be a mistake. */
const toolPattern = z.string().min(1).max(200).regex(/^\S+$/, 'a tool name or a glob, without spaces');
const toolPatterns = z.array(toolPattern).max(200).default([]);

const personName = z
  .string()
  .min(1)
  .max(64)
  .regex(/^[\p{L}\p{N}_.-]+$/u, 'letters, digits, _, . and -');

/** Inputs by strength, strongest first. */
export const APPROVAL_INPUTS = ['button', 'keypad', 'speech'] as const;

/** One person who may decide, and how we know that it is them. */
const approverSchema = z.strictObject({
  name: personName,
  /** Entered on the keypad of a call, this makes the person on the line this approver, for that call. */
  pin: z
    .string()
    .regex(/^\d{4,12}$/, '4 to 12 digits')
    .optional(),
  /** Senders in the host's other channels who may use `/approve` and `/deny`: `channel:senderId`. */
  senders: z
    .array(z.string().regex(/^[A-Za-z][A-Za-z0-9_]*:.+$/, 'channel:senderId'))
    .max(50)
    .default([]),
  /** Users of chat services whose buttons count: `slack:TEAM/USER`, `mattermost:USER`. */
  webhookUsers: z
    .array(
      z
        .string()
        .regex(
          /^(slack:[^/\s]+\/\S+|mattermost:\S+|signed:\S+)$/,
          'slack:TEAM/USER, mattermost:USER or signed:NAME',
        ),
    )
    .max(50)
    .default([]),
});

const grantSchema = z.strictObject({
  tool: toolPattern,
  /** Argument values that the grant is bound to; every one must be equal. */
  args: z.record(z.string().min(1), z.json()).default({}),
});

const cardWebhookSchema = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('slack'),
    url: z.url({ protocol: /^https?$/ }),
    /** Signs what Slack sends us. */
    signingSecret: z.string().min(8),
  }),
  z.strictObject({
    kind: z.literal('mattermost'),
    url: z.url({ protocol: /^https?$/ }),
    /** Signs the buttons' context; ours alone. */
    secret: z.string().min(16),
  }),
  z.strictObject({
    kind: z.literal('signed'),
    url: z.url({ protocol: /^https?$/ }),
    /** Signs both directions (HMAC-SHA256 over id, time and body). */
    secret: z.string().min(16),
  }),
]);

const inlineSchema = z
  .strictObject({
    /** How long a person may take, from when the prompt was heard to its end. Then it is no. */
    timeoutS: z.number().min(5).max(600).default(45),
    /** How long one hearing of the prompt listens for speech. */
    listenS: z.number().min(3).max(60).default(12),
    /** Behind everything, from the creation of the request. */
    deadlineS: z.number().min(10).max(3600).default(180),
    /** Times the prompt is repeated; then only keypad and button are left. */
    reprompts: z.int().min(0).max(3).default(1),
    /** What may decide at all. */
    inputs: z
      .array(z.enum(APPROVAL_INPUTS))
      .min(1)
      .default([...APPROVAL_INPUTS]),
    /** The weakest input that may approve a tool, by name or glob; the strictest match counts. */
    minimum: z.record(toolPattern, z.enum(APPROVAL_INPUTS)).default({}),
    /** What a hang-up does to a request nobody has decided. */
    onHangup: z.enum(['cancel', 'defer']).default('cancel'),
    /** How long a lost connection may take to come back before that happens. */
    reconnectGraceS: z.number().min(0).max(600).default(60),
  })
  .prefault({});

const deferredSchema = z
  .strictObject({
    pendingTtlHours: z.number().min(0.01).max(8760).default(72),
    tenant: personName.default('default'),
    card: z
      .strictObject({
        /** Who the card is for; shown on it. */
        assignee: z.string().min(1).max(100).default('human-review'),
        /** Chats of the host's other channels that are told, `channel:chatId`. */
        notify: z
          .array(z.string().regex(/^[A-Za-z][A-Za-z0-9_]*:.+$/, 'channel:chatId'))
          .max(20)
          .default([]),
        webhooks: z.array(cardWebhookSchema).max(10).default([]),
      })
      .prefault({}),
  })
  .prefault({});

export const toolGateSchema = z
  .strictObject({
    /** Left out: on as soon as `requireApproval` or `deny` has an entry. */
    enabled: z.boolean().optional(),
    requireApproval: toolPatterns,
    defaultMode: z.enum(['deferred', 'inline']).default('deferred'),
    forceDeferred: toolPatterns,
    allowInline: toolPatterns,
    /** Never runs, whoever approves. */
    deny: toolPatterns,
    approvers: z.array(approverSchema).max(100).default([]),
    /** Whoever asked for an action may not be the one who approves it. */
    separateRequester: z.boolean().default(false),
    /** Standing grants of the operator's. */
    grants: z.array(grantSchema).max(200).default([]),
    /** By tool: the arguments that a grant for a call, a session or for good is bound to. */
    grantArguments: z.record(toolPattern, z.array(z.string().min(1)).max(20)).default({}),
    /** Lets `exec` run beside a gate without a sandbox: a shell can do by other means what the gate forbids. */
    unsafe: z.boolean().default(false),
    inline: inlineSchema,
    deferred: deferredSchema,
  })
  .superRefine((gate, context) => {
    const names = new Set<string>();
    const pins = new Set<string>();
    gate.approvers.forEach(({ name, pin }, index) => {
      if (names.has(name))
        context.addIssue({ code: 'custom', path: ['approvers', index, 'name'], message: 'given twice' });
      if (pin !== undefined && pins.has(pin))
        context.addIssue({
          code: 'custom',
          path: ['approvers', index, 'pin'],
          message: 'two people have the same',
        });
      names.add(name);
      if (pin !== undefined) pins.add(pin);
    });
  })
  .prefault({});

export const approvalsSchema = z
  .strictObject({
    /** `off` lets everything but `deny` pass, for this process; read once at start. */
    mode: z.enum(['manual', 'off']).default('manual'),
    toolGate: toolGateSchema,
    /**
     * What the gate holds for. `voiceOnly` accepts in writing that another host's own agent, which this channel may ask,
     * runs tools without it.
     */
    scope: z.enum(['everything', 'voiceOnly']).default('everything'),
    /** Hosts under which the operator's page may be opened, besides where we listen on loopback and `publicUrl`. */
    pageHosts: z.array(z.string().min(1).max(260)).max(20).default([]),
  })
  .prefault({});

export type ApprovalsConfig = z.output<typeof approvalsSchema>;
export type ToolGateConfig = z.output<typeof toolGateSchema>;
export type Approver = ToolGateConfig['approvers'][number];
export type ApprovalInput = (typeof APPROVAL_INPUTS)[number];

/** Whether the gate is on: as written, else as soon as anything is designated or denied. */
export function isGateOn(gate: Pick<ToolGateConfig, 'enabled' | 'requireApproval' | 'deny'>): boolean {
  return gate.enabled ?? (gate.requireApproval.length > 0 || gate.deny.length > 0);
}
