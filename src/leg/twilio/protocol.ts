/**
 * Twilio Media Streams on the wire: what Twilio sends, read and checked, and the three messages we send.
 * https://www.twilio.com/docs/voice/media-streams/websocket-messages
 *
 * @module
 */

import { z } from 'zod';
import { isBase64 } from '../../audio/index.ts';
import { VoiceError } from '../../errors.ts';

/** Longest message we read, in characters; a `media` message of 20 ms has about 300. */
export const MAX_MESSAGE_CHARS = 64 * 1024;
/** Longest name of a mark that comes back. */
export const MAX_MARK_NAME_CHARS = 256;
/** Longest payload of one `media` message, in base64 characters: one second of µ-law. */
export const MAX_PAYLOAD_CHARS = 10_668;

/**
 * A `media` message up to its payload, and what follows it, written as Twilio writes them, to the letter; every other
 * way is the parser's. A text that fits has no escapes, so it means what it says.
 */
const MEDIA_HEAD =
  /^\{"event":"media","sequenceNumber":"\d{1,12}","media":\{"track":"inbound","chunk":"\d{1,12}","timestamp":"(\d{1,12})","payload":"/;
const MEDIA_STREAM = '"},"streamSid":"';
const MEDIA_TAIL = '"}';
const SID = /^\w{1,64}$/;

const MAX_SID_CHARS = 64;
const sid = z.string().min(1).max(MAX_SID_CHARS);

const startSchema = z.object({
  streamSid: sid,
  start: z.object({
    accountSid: sid,
    callSid: sid,
    tracks: z.array(z.string()).max(4),
    customParameters: z.record(z.string(), z.string()).default({}),
    mediaFormat: z.object({
      encoding: z.literal('audio/x-mulaw'),
      sampleRate: z.literal(8000),
      channels: z.literal(1),
    }),
  }),
});
const dtmfSchema = z.object({
  streamSid: sid,
  dtmf: z.object({ digit: z.string().regex(/^[0-9*#A-D]$/) }),
});
const stopSchema = z.object({ streamSid: sid });

/** What `start` says about the stream. */
export interface TwilioStart {
  readonly streamSid: string;
  readonly accountSid: string;
  readonly callSid: string;
  readonly customParameters: Readonly<Record<string, string>>;
}

export interface TwilioMedia {
  readonly event: 'media';
  readonly streamSid: string;
  readonly track: string;
  /** Milliseconds since the stream began, of the frame's first sample; `null` when Twilio left it out. */
  readonly timestampMs: number | null;
  /** Base64 of raw µ-law, 8 kHz. */
  readonly payload: string;
}

export type TwilioMessage =
  | TwilioMedia
  | { readonly event: 'connected' }
  | { readonly event: 'start'; readonly start: TwilioStart }
  | { readonly event: 'dtmf'; readonly streamSid: string; readonly digit: string }
  | { readonly event: 'mark'; readonly streamSid: string; readonly name: string }
  | { readonly event: 'stop'; readonly streamSid: string }
  /** An event that Twilio added after this was written; skipped. */
  | { readonly event: 'unknown' };

/**
 * Reads one message of Twilio's.
 *
 * @throws VoiceError `LEG_PROTOCOL` for a binary frame, text that isn't JSON, or a message without its fields
 */
export function parseTwilioMessage(data: string | Uint8Array): TwilioMessage {
  if (typeof data !== 'string') throw protocolError('a binary frame');
  if (data.length > MAX_MESSAGE_CHARS) throw protocolError('a message that is too long');
  const usual = usualMedia(data);
  if (usual) return usual;
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch {
    throw protocolError('text that is not JSON');
  }
  if (!isRecord(json) || typeof json.event !== 'string') throw protocolError('a message without "event"');
  switch (json.event) {
    case 'media':
      return media(json);
    case 'connected':
      return { event: 'connected' };
    case 'start': {
      const { streamSid, start } = parsed(startSchema, json, 'start');
      if (start.tracks.length > 0 && !start.tracks.includes('inbound')) {
        throw protocolError('a stream without the inbound track');
      }
      const { accountSid, callSid, customParameters } = start;
      return { event: 'start', start: { streamSid, accountSid, callSid, customParameters } };
    }
    case 'dtmf': {
      const { streamSid, dtmf } = parsed(dtmfSchema, json, 'dtmf');
      return { event: 'dtmf', streamSid, digit: dtmf.digit };
    }
    case 'mark':
      return mark(json);
    case 'stop':
      return { event: 'stop', streamSid: parsed(stopSchema, json, 'stop').streamSid };
    default:
      return { event: 'unknown' };
  }
}

function usualMedia(data: string): TwilioMedia | null {
  const head = MEDIA_HEAD.exec(data);
  if (!head) return null;
  const [{ length: start }, timestamp] = head;
  const end = data.indexOf('"', start);
  if (end - start > MAX_PAYLOAD_CHARS || !data.startsWith(MEDIA_STREAM, end)) return null;
  const payload = data.slice(start, end);
  const streamSid = data.slice(end + MEDIA_STREAM.length, -MEDIA_TAIL.length);
  if (!data.endsWith(MEDIA_TAIL) || !SID.test(streamSid) || !isBase64(payload)) return null;
  return { event: 'media', streamSid, track: 'inbound', timestampMs: Number(timestamp), payload };
}

/** `media` comes fifty times a second and call: checked by hand, without a schema's allocations. */
function media(json: Record<string, unknown>): TwilioMedia {
  const { streamSid, media: body } = json;
  if (typeof streamSid !== 'string' || !isRecord(body))
    throw protocolError('a "media" message without fields');
  const { track, timestamp, payload } = body;
  if (typeof payload !== 'string' || payload.length > MAX_PAYLOAD_CHARS) {
    throw protocolError('a "media" message without a payload of at most one second');
  }
  if (!isBase64(payload)) throw protocolError('a payload that is not base64');
  const timestampMs = timestamp === undefined ? Number.NaN : Number(timestamp);
  return {
    event: 'media',
    streamSid,
    track: typeof track === 'string' ? track : 'inbound',
    timestampMs: Number.isFinite(timestampMs) && timestampMs >= 0 ? timestampMs : null,
    payload,
  };
}

/** `mark` comes five times a second and call: by hand, too. */
function mark({ streamSid, mark: body }: Record<string, unknown>): TwilioMessage {
  if (typeof streamSid !== 'string' || streamSid === '' || streamSid.length > MAX_SID_CHARS)
    throw protocolError('a "mark" message without its stream');
  if (!isRecord(body) || typeof body.name !== 'string' || body.name.length > MAX_MARK_NAME_CHARS)
    throw protocolError('a "mark" message without a name');
  return { event: 'mark', streamSid, name: body.name };
}

/** Makes `media` messages of one stream, of base64 that is ours or was checked. */
export function mediaMessages(streamSid: string): (payload: string) => string {
  const head = `{"event":"media","streamSid":${JSON.stringify(streamSid)},"media":{"payload":"`;
  return (payload) => `${head}${payload}"}}`;
}

export function markMessage(streamSid: string, name: string): string {
  return JSON.stringify({ event: 'mark', streamSid, mark: { name } });
}

export function clearMessage(streamSid: string): string {
  return JSON.stringify({ event: 'clear', streamSid });
}

function parsed<T>(schema: z.ZodType<T>, json: unknown, event: string): T {
  const result = schema.safeParse(json);
  // The issues quote what was found, and a digit is a secret: only the event is named.
  if (!result.success) throw protocolError(`a "${event}" message that does not have its fields`);
  return result.data;
}

function protocolError(what: string): VoiceError {
  return new VoiceError('LEG_PROTOCOL', `Twilio's media stream sent ${what}.`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
