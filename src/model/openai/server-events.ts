/**
 * What a server sends, read and checked: only the fields we use, so that a server may add others. An event we
 * don't know is skipped; one we know with the wrong fields is reported and skipped.
 *
 * @module
 */

import { z } from 'zod';
import { isBase64 } from '../../audio/index.ts';
import { REQUEST_ID_METADATA } from './client-events.ts';

const id = z.string().min(1).max(256);
const ms = z.number().nullish().catch(null);
const text = z.string();

const session = z.object({
  expires_at: z.number().nullish().catch(null),
  audio: z
    .object({
      input: z.object({ format: z.unknown().optional() }).nullish(),
      output: z.object({ format: z.unknown().optional() }).nullish(),
    })
    .nullish(),
});

const count = z.number().nonnegative().nullish().catch(null);

const usage = z
  .object({
    input_tokens: count,
    output_tokens: count,
    input_token_details: z.object({ audio_tokens: count, cached_tokens: count }).nullish().catch(null),
    output_token_details: z.object({ audio_tokens: count }).nullish().catch(null),
  })
  .nullish()
  .catch(null);

/** Only function calls matter to us; other items keep their type. */
const item = z.object({
  id: id.nullish(),
  type: z.string(),
  status: z.string().nullish(),
  call_id: id.nullish(),
  name: id.nullish(),
  arguments: z.string().nullish(),
});

const response = z.object({
  id,
  status: z.string().nullish(),
  status_details: z
    .object({
      reason: z.string().nullish(),
      error: z.object({ code: z.string().nullish(), type: z.string().nullish() }).nullish(),
    })
    .nullish()
    .catch(null),
  metadata: z
    .object({ [REQUEST_ID_METADATA]: z.string().nullish() })
    .nullish()
    .catch(null),
  output: z.array(z.unknown()).nullish().catch(null),
  usage,
});

const error = z.object({
  type: z.string().nullish(),
  code: z.string().nullish(),
  event_id: z.string().nullish(),
});

const inItem = { response_id: id, item_id: id };

const serverEvent = z.discriminatedUnion('type', [
  z.object({ type: z.literal('error'), error }),
  z.object({ type: z.literal('session.created'), session }),
  z.object({ type: z.literal('session.updated'), session }),
  z.object({
    type: z.literal('input_audio_buffer.speech_started'),
    item_id: id.nullish(),
    audio_start_ms: ms,
  }),
  z.object({ type: z.literal('input_audio_buffer.speech_stopped'), item_id: id.nullish(), audio_end_ms: ms }),
  z.object({ type: z.literal('input_audio_buffer.committed'), item_id: id }),
  z.object({
    type: z.literal('conversation.item.input_audio_transcription.delta'),
    item_id: id,
    delta: text.nullish(),
  }),
  // xAI: the whole text so far, in place of deltas.
  z.object({
    type: z.literal('conversation.item.input_audio_transcription.updated'),
    item_id: id,
    transcript: text,
  }),
  z.object({
    type: z.literal('conversation.item.input_audio_transcription.completed'),
    item_id: id,
    transcript: text,
    // xAI may complete a transcript that it goes on to change.
    status: z.string().nullish(),
  }),
  z.object({ type: z.literal('conversation.item.input_audio_transcription.failed'), item_id: id }),
  z.object({ type: z.literal('response.created'), response }),
  z.object({ type: z.literal('response.done'), response }),
  z.object({ type: z.literal('response.output_item.added'), response_id: id, item }),
  z.object({ type: z.literal('response.output_item.done'), response_id: id, item }),
  z.object({
    type: z.literal('response.output_audio.delta'),
    ...inItem,
    content_index: z.int().nonnegative().nullish(),
    delta: text,
  }),
  z.object({ type: z.literal('response.output_audio.done'), ...inItem }),
  z.object({ type: z.literal('response.output_audio_transcript.delta'), ...inItem, delta: text }),
  z.object({ type: z.literal('response.output_audio_transcript.done'), ...inItem, transcript: text }),
  z.object({ type: z.literal('response.output_text.delta'), ...inItem, delta: text }),
  z.object({ type: z.literal('response.output_text.done'), ...inItem, text }),
  z.object({
    type: z.literal('response.function_call_arguments.done'),
    ...inItem,
    call_id: id,
    name: id.nullish(),
    arguments: text,
  }),
]);

export type ServerEvent = z.output<typeof serverEvent>;
export type ServerItem = z.output<typeof item>;
export type ServerResponse = z.output<typeof response>;
export type ServerSession = z.output<typeof session>;

const KNOWN: ReadonlySet<string> = new Set(serverEvent.options.map((option) => option.shape.type.value));

export type Parsed =
  | { readonly kind: 'event'; readonly event: ServerEvent }
  | { readonly kind: 'ignored' }
  | { readonly kind: 'malformed'; readonly type: string };

/** An audio delta up to its audio, written as OpenAI writes it; every other way to write one is the parser's. */
const AUDIO_DELTA =
  /^\{"type":"response\.output_audio\.delta","event_id":"\w{0,256}","response_id":"(\w{1,256})","item_id":"(\w{1,256})","output_index":(?:0|[1-9]\d{0,8}),"content_index":(0|[1-9]\d{0,8}),"delta":"/;

/** What comes fifty times a second and call is read without a parser, when nothing in it is escaped or behind it. */
function audioDelta(data: string): ServerEvent | null {
  const head = AUDIO_DELTA.exec(data);
  if (!head) return null;
  const [{ length: start }, response_id = '', item_id = '', content_index] = head;
  const end = data.indexOf('"', start);
  if (end !== data.length - 2 || data.charCodeAt(end + 1) !== 0x7d) return null;
  const delta = data.slice(start, end);
  if (!isBase64(delta)) return null;
  return {
    type: 'response.output_audio.delta',
    response_id,
    item_id,
    content_index: Number(content_index),
    delta,
  };
}

/** Reads one message. Never throws. */
export function parseServerEvent(data: string | Uint8Array): Parsed {
  if (typeof data !== 'string') return { kind: 'malformed', type: 'binary' };
  const audio = audioDelta(data);
  if (audio) return { kind: 'event', event: audio };
  let json: unknown;
  try {
    json = JSON.parse(data);
  } catch {
    return { kind: 'malformed', type: 'json' };
  }
  const type = typeof json === 'object' && json !== null && 'type' in json ? json.type : undefined;
  if (typeof type !== 'string') return { kind: 'malformed', type: 'untyped' };
  if (!KNOWN.has(type)) return { kind: 'ignored' };
  const parsed = serverEvent.safeParse(json);
  return parsed.success ? { kind: 'event', event: parsed.data } : { kind: 'malformed', type };
}

/** A function call among a response's output items, when `value` is one. */
export function itemOf(value: unknown): ServerItem | null {
  const parsed = item.safeParse(value);
  return parsed.success ? parsed.data : null;
}
