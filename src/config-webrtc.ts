/**
 * `channels.realtime.webrtc`: how a browser's audio reaches this process.
 *
 * @module
 */

import { isIP } from 'node:net';
import { z } from 'zod';

const port = z.int().min(1).max(65535);

const stunUrl = z.string().regex(/^stun:[^\s?]{1,255}$/, 'a STUN address such as stun:stun.example.com:3478');
const turnUrl = z
  .string()
  .regex(
    /^turns?:[^\s?]{1,255}(\?transport=(udp|tcp))?$/,
    'a TURN address such as turn:turn.example.com:3478?transport=udp',
  );
const ipAddress = z.string().refine((text) => isIP(text) !== 0, 'an IP address');

/** TURN servers that take short-lived credentials made from a shared secret (coturn's `use-auth-secret`). */
const turnSchema = z
  .strictObject({
    urls: z.array(turnUrl).max(8).default([]),
    /** The secret that the TURN servers have too (`static-auth-secret`). It never leaves this process. */
    secret: z.string().min(8).max(256).optional(),
    /** How long one credential is good for, in seconds. */
    ttlS: z.int().min(60).max(86_400).default(3600),
  })
  .prefault({});

/** UDP ports of the media; any free one when left out. With `min` equal to `max` all calls share it. */
const portRangeSchema = z.strictObject({ min: port.optional(), max: port.optional() }).prefault({});

export const webrtcSchema = z
  .strictObject({
    /** STUN servers for both ends. None is asked unless it is named here. */
    stun: z.array(stunUrl).max(8).default([]),
    /** TURN servers for both ends. */
    turn: turnSchema,
    /** Both ends use the TURN servers only, and no other address of either is told or tried. */
    relayOnly: z.boolean().default(false),
    portRange: portRangeSchema,
    /** The address that callers reach this machine at, where it is behind a NAT that keeps ports. */
    publicAddress: ipAddress.optional(),
    /** The address that media is bound to; all addresses of the machine when left out. */
    bindAddress: ipAddress.optional(),
    /** Whether IPv6 addresses of this machine are offered too. */
    ipv6: z.boolean().default(true),
    /** Opus: bits per second while nothing is lost; with loss it goes up to a third more, for FEC. */
    bitrate: z.int().min(12_000).max(64_000).default(24_000),
    /** Opus: 0 to 10. */
    complexity: z.int().min(0).max(10).default(5),
  })
  .prefault({})
  .superRefine(({ relayOnly, turn, portRange: { min, max } }, context) => {
    const issue = (path: string[], message: string) => context.addIssue({ code: 'custom', path, message });
    if (turn.urls.length > 0 && turn.secret === undefined)
      issue(['turn', 'secret'], 'is needed with turn.urls');
    // Our own end speaks TURN over UDP only.
    if (relayOnly && !turn.urls.some((url) => url.startsWith('turn:') && !url.endsWith('=tcp')))
      issue(['relayOnly'], 'needs a TURN server over UDP in turn.urls');
    if ((min === undefined) !== (max === undefined)) issue(['portRange'], 'needs min and max, or neither');
    else if (min !== undefined && max !== undefined && min > max) issue(['portRange'], 'min is over max');
  });

/** `channels.realtime.webrtc`, parsed: every default filled in. */
export type WebRtcConfig = z.output<typeof webrtcSchema>;
