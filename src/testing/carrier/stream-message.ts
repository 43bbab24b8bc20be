/**
 * What a server may send to a Twilio media stream, and how Twilio would refuse the rest.
 *
 * @module
 */

import { z } from 'zod';

/** Twilio's error codes: 31924 protocol error, 31950 a message of a kind it does not take. */
export type CarrierRefusalCode = 31924 | 31950;

export interface CarrierViolation {
  readonly code: CarrierRefusalCode;
  readonly reason: string;
  /** Virtual ms since the stream started. */
  readonly atMs: number;
}

export type OutboundMessage =
  | { readonly event: 'media'; readonly audio: Uint8Array }
  | { readonly event: 'mark'; readonly name: string }
  | { readonly event: 'clear' };

export type ReadOutbound =
  | { readonly ok: true; readonly message: OutboundMessage }
  | { readonly ok: false; readonly code: CarrierRefusalCode; readonly reason: string };

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

const outbound = z.discriminatedUnion('event', [
  z.strictObject({
    event: z.literal('media'),
    streamSid: z.string(),
    media: z.strictObject({ payload: z.string().min(1).regex(BASE64) }),
  }),
  z.strictObject({
    event: z.literal('mark'),
    streamSid: z.string(),
    mark: z.strictObject({ name: z.string().min(1) }),
  }),
  z.strictObject({ event: z.literal('clear'), streamSid: z.string() }),
]);

export function readOutbound(data: string | Uint8Array, streamSid: string): ReadOutbound {
  if (typeof data !== 'string') return { ok: false, code: 31950, reason: 'a binary frame' };
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch {
    return { ok: false, code: 31924, reason: 'text that is not JSON' };
  }
  const parsed = outbound.safeParse(json);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = issue?.path.map(String).join('.') || 'message';
    return { ok: false, code: 31924, reason: `${where}: ${issue?.code ?? 'invalid'}` };
  }
  const message = parsed.data;
  if (message.streamSid !== streamSid) {
    return { ok: false, code: 31924, reason: 'streamSid of another stream' };
  }
  switch (message.event) {
    case 'media': {
      const audio = Buffer.from(message.media.payload, 'base64');
      if (audio.subarray(0, 4).toString('latin1') === 'RIFF') {
        return { ok: false, code: 31924, reason: 'media.payload: a WAV header; raw µ-law is wanted' };
      }
      return { ok: true, message: { event: 'media', audio } };
    }
    case 'mark':
      return { ok: true, message: { event: 'mark', name: message.mark.name } };
    case 'clear':
      return { ok: true, message: { event: 'clear' } };
    default:
      return message satisfies never;
  }
}
