/**
 * `channels.realtime.tools.authorization` and `channels.realtime.media`: which media tools a session may use, and how
 * what they send reaches the caller.
 *
 * @module
 */

import { z } from 'zod';

const E164 = /^\+[1-9]\d{6,14}$/;

/** Deny by default: a media tool that is not listed does not exist for a session. */
export const authorizationSchema = z
  .array(
    z.strictObject({
      tool: z.string().regex(/^[A-Za-z0-9_-]{1,64}$/, 'the name of a tool'),
      /** Without this tool the session is refused, before any audio. */
      required: z.boolean().default(false),
    }),
  )
  .max(100)
  .superRefine((entries, context) => {
    const seen = new Set<string>();
    entries.forEach(({ tool }, index) => {
      if (seen.has(tool))
        context.addIssue({ code: 'custom', path: [index, 'tool'], message: 'listed twice' });
      seen.add(tool);
    });
  })
  .default([]);

/** Twilio's Messages API; on as soon as there is an account and a sender. */
const messagingSchema = z
  .strictObject({
    accountSid: z.string().min(1).optional(),
    /** `carriers.twilio.authToken`, or `TWILIO_AUTH_TOKEN`, when left out. */
    authToken: z.string().min(1).optional(),
    /** The sender: a number of ours, or a messaging service. */
    from: z.string().regex(E164, 'a number such as +15550100').optional(),
    messagingServiceSid: z.string().min(1).optional(),
    baseUrl: z.url({ protocol: /^https?$/ }).default('https://api.twilio.com'),
    /** Numbers that can get MMS, by how they begin. */
    mmsPrefixes: z
      .array(z.string().regex(/^\+\d*$/, 'the beginning of a number, such as +1'))
      .max(50)
      .default(['+1']),
    /** Largest picture sent as MMS; carriers cut or refuse what is much larger. */
    mmsMaxBytes: z.int().min(1).max(5_000_000).default(600_000),
    /** Numbers that may get SMS, by how they begin. */
    smsPrefixes: z
      .array(z.string().regex(/^\+\d*$/, 'the beginning of a number, such as +1'))
      .max(50)
      .default(['+']),
  })
  .prefault({});

export const mediaSchema = z
  .strictObject({
    /** Media that one call may send. */
    maxPerCall: z.int().min(1).max(100).default(5),
    /** How long an attachment and its delivery last. */
    retentionHours: z.number().min(0.01).max(24).default(24),
    /** Numbers that agreed to be texted; `*` when every caller has. */
    consent: z
      .array(z.union([z.literal('*'), z.string().regex(E164, 'a number such as +15550100, or *')]))
      .max(10_000)
      .default([]),
    /** Chats of the host's other channels, for people who have logged in or whose number the carrier vouches for. */
    chats: z
      .array(
        z.strictObject({
          person: z.string().min(1).max(200),
          channel: z.string().regex(/^[A-Za-z][A-Za-z0-9_]*$/, 'the name of a channel'),
          chatId: z.string().min(1).max(500),
        }),
      )
      .max(1000)
      .default([]),
    /** Signs links; needed when several nodes serve one address, else made and kept in the data folder. */
    signingKey: z.string().min(32).max(200).optional(),
    messaging: messagingSchema,
  })
  .prefault({});

export type ToolAuthorizationConfig = z.output<typeof authorizationSchema>;
export type MediaConfig = z.output<typeof mediaSchema>;
