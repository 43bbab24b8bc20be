/**
 * What we send, as JSON text. The shapes are checked against the official package's types, which are needed
 * here alone and leave nothing behind at run time or in our own type declarations.
 *
 * @module
 */

import type {
  ConversationItemCreateEvent,
  ConversationItemDeleteEvent,
  ConversationItemTruncateEvent,
  InputAudioBufferAppendEvent,
  RealtimeSessionCreateRequest,
  ResponseCancelEvent,
  ResponseCreateEvent,
  SessionUpdateEvent,
} from 'openai/resources/realtime/realtime';
import type { RealtimeConfig } from '../../config.ts';
import type { ToolDefinition } from '../../gateway/index.ts';
import type { HistoryItem, ModelSessionConfig, ResponseRequest } from '../contract.ts';
import type { DialectProfile } from './profiles.ts';
import { toWireFormat } from './wire-format.ts';

/** Key of `response.metadata` that carries our request's id there and back. */
export const REQUEST_ID_METADATA = 'request_id';

export interface SessionParts {
  readonly profile: DialectProfile;
  readonly config: RealtimeConfig['model'];
  /** Whether the server's own voice detection cancels the running response. */
  readonly interruptResponse: boolean;
  readonly session: ModelSessionConfig;
}

/** The first `session.update`: everything at once. The model is not in it: it is fixed by the address. */
export function sessionUpdate(eventId: string, parts: SessionParts): string {
  const { profile, config, session } = parts;
  const turnDetection = turnDetectionOf(config, parts.interruptResponse);
  const { voiceAt, turnDetectionAt } = profile.session;
  const transcription =
    profile.session.transcription === 'fixed'
      ? undefined
      : config.transcriptionModel === null
        ? null
        : { model: config.transcriptionModel };
  const payload = {
    ...(profile.session.hasType ? { type: 'realtime' as const } : {}),
    instructions: session.instructions,
    output_modalities: ['audio' as const],
    audio: {
      input: {
        format: toWireFormat(session.inputFormat),
        ...(transcription === undefined ? {} : { transcription }),
        ...(turnDetectionAt === 'audio.input' ? { turn_detection: turnDetection } : {}),
      },
      output: {
        format: toWireFormat(session.outputFormat),
        ...(voiceAt === 'audio.output' ? { voice: config.voice } : {}),
      },
    },
    ...(voiceAt === 'root' ? { voice: config.voice } : {}),
    ...(turnDetectionAt === 'root' ? { turn_detection: turnDetection } : {}),
    tools: session.tools.map(flatTool),
    tool_choice: 'auto' as const,
  };
  return JSON.stringify({ type: 'session.update', event_id: eventId, session: payload });
}

/** A later `session.update`: only what changes. */
export function sessionChange(
  eventId: string,
  profile: DialectProfile,
  changes: { instructions?: string; tools?: readonly ToolDefinition[] },
): string {
  const session = {
    ...(changes.instructions === undefined ? {} : { instructions: changes.instructions }),
    ...(changes.tools === undefined ? {} : { tools: changes.tools.map(flatTool) }),
  } satisfies Partial<RealtimeSessionCreateRequest>;
  if (!profile.session.hasType) {
    return JSON.stringify({ type: 'session.update', event_id: eventId, session });
  }
  return JSON.stringify({
    type: 'session.update',
    event_id: eventId,
    session: { type: 'realtime', ...session },
  } satisfies SessionUpdateEvent);
}

/** The type's own spelling, checked. */
const APPEND: InputAudioBufferAppendEvent['type'] = 'input_audio_buffer.append';

const APPEND_HEAD = `{"type":"${APPEND}","audio":"`;

/** No `event_id`: it is never acknowledged, and it is sent fifty times a second. */
export function audioAppend(audio: string): string {
  // Base64 goes as it is. What could end the string, or says otherwise what it means, is none, and is made harmless.
  if (audio.includes('"') || audio.includes('\\')) return JSON.stringify({ type: APPEND, audio });
  return `${APPEND_HEAD}${audio}"}`;
}

export function messageItem(eventId: string, { role, text }: HistoryItem): string {
  const item: ConversationItemCreateEvent['item'] =
    role === 'assistant'
      ? { type: 'message', role, content: [{ type: 'output_text', text }] }
      : { type: 'message', role, content: [{ type: 'input_text', text }] };
  return itemCreate(eventId, item);
}

export function toolOutput(eventId: string, callId: string, output: string): string {
  return itemCreate(eventId, { type: 'function_call_output', call_id: callId, output });
}

function itemCreate(eventId: string, item: ConversationItemCreateEvent['item']): string {
  return JSON.stringify({
    type: 'conversation.item.create',
    event_id: eventId,
    item,
  } satisfies ConversationItemCreateEvent);
}

/**
 * A response's own instructions replace the session's, so the persona is said again in front of them. `null`: it has none
 * of its own.
 */
export function responseInstructions(persona: string, { instructions, say }: ResponseRequest): string | null {
  const extra = [
    instructions,
    say === undefined ? undefined : `Say exactly the following, word for word, and nothing else:\n${say}`,
  ].filter((part) => part !== undefined);
  if (extra.length === 0) return null;
  return [persona, ...extra].filter((part) => part !== '').join('\n\n');
}

export interface ResponseParts {
  readonly requestId: string;
  /** Whole instructions of this response; the session's count when left out. */
  readonly instructions?: string;
  /** The model may not answer with a function call. */
  readonly speakOnly: boolean;
}

export function responseCreate(profile: DialectProfile, parts: ResponseParts): string {
  const response = {
    ...(parts.instructions === undefined ? {} : { instructions: parts.instructions }),
    ...(parts.speakOnly ? { tool_choice: 'none' as const } : {}),
    ...(profile.correlation === 'metadata' ? { metadata: { [REQUEST_ID_METADATA]: parts.requestId } } : {}),
  };
  return JSON.stringify({
    type: 'response.create',
    event_id: parts.requestId,
    ...(Object.keys(response).length === 0 ? {} : { response }),
  } satisfies ResponseCreateEvent);
}

export function responseCancel(eventId: string, responseId: string): string {
  return JSON.stringify({
    type: 'response.cancel',
    event_id: eventId,
    response_id: responseId,
  } satisfies ResponseCancelEvent);
}

export function itemTruncate(
  eventId: string,
  itemId: string,
  contentIndex: number,
  audioEndMs: number,
): string {
  return JSON.stringify({
    type: 'conversation.item.truncate',
    event_id: eventId,
    item_id: itemId,
    content_index: contentIndex,
    audio_end_ms: audioEndMs,
  } satisfies ConversationItemTruncateEvent);
}

export function itemDelete(eventId: string, itemId: string): string {
  return JSON.stringify({
    type: 'conversation.item.delete',
    event_id: eventId,
    item_id: itemId,
  } satisfies ConversationItemDeleteEvent);
}

function turnDetectionOf(config: RealtimeConfig['model'], interruptResponse: boolean) {
  const { type, threshold, prefixPaddingMs, silenceDurationMs, eagerness } = config.turnDetection;
  const gates = { create_response: true, interrupt_response: interruptResponse };
  switch (type) {
    case 'server_vad':
      return {
        type,
        threshold,
        prefix_padding_ms: prefixPaddingMs,
        silence_duration_ms: silenceDurationMs,
        ...gates,
      };
    case 'semantic_vad':
      return { type, eagerness, ...gates };
    default:
      return type satisfies never;
  }
}

/** Chat-completions schemas are nested; the realtime dialect wants them flat. */
function flatTool({ function: { name, description, parameters } }: ToolDefinition) {
  return { type: 'function' as const, name, description, parameters };
}
