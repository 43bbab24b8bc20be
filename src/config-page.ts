/**
 * `channels.realtime.page`, `server.tls` and `server.trustedProxies`: calls from a web page, and the operator's page.
 *
 * @module
 */

import { isIP } from 'node:net';
import { z } from 'zod';

/** An IP address, or a network such as `10.0.0.0/8`. */
const network = z.string().refine((text) => {
  const [address = '', bits, ...rest] = text.split('/');
  const family = isIP(address);
  if (family === 0 || rest.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (family === 4 ? 32 : 128));
}, 'an IP address or a network such as 10.0.0.0/8');

export const trustedProxiesSchema = z.array(network).max(50).default([]);

/** Files in PEM; with both, the gateway speaks HTTPS. Read anew when they change. */
export const tlsSchema = z
  .strictObject({
    cert: z.string().min(1).optional(),
    key: z.string().min(1).optional(),
  })
  .prefault({})
  .superRefine(({ cert, key }, context) => {
    if ((cert === undefined) !== (key === undefined))
      context.addIssue({
        code: 'custom',
        path: [cert === undefined ? 'cert' : 'key'],
        message: 'is missing',
      });
  });

export const pageSchema = z
  .strictObject({
    /** Whether there are pages at all. */
    enabled: z.boolean().default(true),
    /** What the agent is called on the pages. */
    agentName: z.string().min(1).max(60).default('nanobot'),
    /** Who calls from an owner's page: the name of an approver, the person of a chat in `media.chats`. */
    ownerId: z
      .string()
      .regex(/^[\p{L}\p{N}_.-]{1,64}$/u, 'letters, digits, _, . and -')
      .default('owner'),
    /** Hosts under which the pages may be opened, besides where we listen on loopback and `publicUrl`. */
    hosts: z.array(z.string().min(1).max(260)).max(20).default([]),
    /** Calls from pages of one address at once. */
    maxCallsPerAddress: z.int().min(1).max(10_000).default(20),
    guests: z
      .strictObject({
        /** How long the link of a guest can be used, in minutes, unless it is made for another time. */
        linkTtlMinutes: z.number().min(1).max(43_200).default(1440),
        /** Tools, by name or glob, that a guest may approve on their own call. */
        decide: z
          .array(z.string().min(1).max(200).regex(/^\S+$/, 'a tool name or a glob, without spaces'))
          .max(200)
          .default([]),
      })
      .prefault({}),
    /** What is kept of every call for the operator's page: who spoke when, transcripts, latencies; no audio. */
    records: z
      .strictObject({
        enabled: z.boolean().default(true),
        keepDays: z.number().min(0.01).max(3650).default(30),
        /** Records at most; the oldest go first. */
        max: z.int().min(1).max(10_000).default(1000),
      })
      .prefault({}),
  })
  .prefault({});

/** `channels.realtime.page`, parsed: every default filled in. */
export type PageConfig = z.output<typeof pageSchema>;
export type TlsConfig = z.output<typeof tlsSchema>;
