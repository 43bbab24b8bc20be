/**
 * The server's conversation events → ours: speech, transcripts, responses, audio, function calls.
 *
 * @module
 */

import { audioByteLength } from '../../audio/index.ts';
import type { Clock } from '../../clock.ts';
import type { Emitter } from '../../emitter.ts';
import type { ModelUsage, RealtimeModelEvents, ResponseStatus } from '../contract.ts';
import { BoundedMap } from './bounded-map.ts';
import { REQUEST_ID_METADATA } from './client-events.ts';
import { safeCode } from './error-table.ts';
import { InputTranscripts } from './input-transcripts.ts';
import type { ResponseTracker } from './response-tracker.ts';
import type { ServerEvent, ServerResponse } from './server-events.ts';
import { type CompleteCall, ToolCallCollector } from './tool-calls.ts';

/** Spoken items whose length is remembered, to keep `truncate` within it. */
export const MAX_REMEMBERED_ITEMS = 256;

export type ConversationEvent = Exclude<
  ServerEvent,
  { type: 'error' | 'session.created' | 'session.updated' }
>;

type AudioEvent = Extract<ServerEvent, { type: 'response.output_audio.delta' }>;

/** What the reader may do besides emitting. */
export interface InboundLink {
  cancel(responseId: string): void;
  /** Reports something benign that went wrong. */
  refuse(code: string): void;
}

/** Audio received of one item; its truncation may not go beyond. */
export interface SpokenItem {
  readonly contentIndex: number;
  bytes: number;
}

export class InboundReader {
  readonly #events: Emitter<RealtimeModelEvents>;
  readonly #responses: ResponseTracker;
  readonly #clock: Clock;
  readonly #link: InboundLink;
  readonly #toolCalls = new ToolCallCollector();
  readonly #transcripts = new InputTranscripts();
  readonly #spoken = new BoundedMap<string, SpokenItem>(MAX_REMEMBERED_ITEMS);
  #spokeOverResponse = false;
  /** Of the last audio. */
  #itemId = '';
  #responseId = '';
  #item: SpokenItem | null = null;

  constructor(
    events: Emitter<RealtimeModelEvents>,
    responses: ResponseTracker,
    clock: Clock,
    link: InboundLink,
  ) {
    this.#events = events;
    this.#responses = responses;
    this.#clock = clock;
    this.#link = link;
  }

  /** What was received of an item; undefined when it has no audio, or was long ago. */
  spoken(itemId: string): SpokenItem | undefined {
    return this.#spoken.get(itemId);
  }

  /** Everything but `error` and `session.*`, which are the session's own affair. */
  read(event: ConversationEvent): void {
    switch (event.type) {
      case 'response.output_audio.delta':
        this.#onAudio(event);
        break;
      case 'input_audio_buffer.speech_started':
        this.#spokeOverResponse = true;
        this.#responses.forgetAuto();
        this.#events.emit('speechStarted', {
          ...(event.item_id ? { itemId: event.item_id } : {}),
          ...(event.audio_start_ms == null ? {} : { audioStartMs: event.audio_start_ms }),
        });
        break;
      case 'input_audio_buffer.speech_stopped':
        this.#events.emit('speechStopped', {
          ...(event.item_id ? { itemId: event.item_id } : {}),
          ...(event.audio_end_ms == null ? {} : { audioEndMs: event.audio_end_ms }),
        });
        break;
      case 'input_audio_buffer.committed':
        this.#responses.expectAuto(this.#clock.now());
        this.#events.emit('inputCommitted', { itemId: event.item_id });
        break;
      case 'conversation.item.input_audio_transcription.delta': {
        const text = this.#transcripts.append(event.item_id, event.delta ?? '');
        this.#events.emit('inputTranscript', { itemId: event.item_id, text, final: false });
        break;
      }
      case 'conversation.item.input_audio_transcription.updated':
        this.#events.emit('inputTranscript', { itemId: event.item_id, text: event.transcript, final: false });
        break;
      case 'conversation.item.input_audio_transcription.completed': {
        const final = event.status !== 'in_progress';
        if (final) this.#transcripts.finish(event.item_id);
        this.#events.emit('inputTranscript', { itemId: event.item_id, text: event.transcript, final });
        break;
      }
      case 'conversation.item.input_audio_transcription.failed':
        this.#transcripts.finish(event.item_id);
        this.#link.refuse('input_transcription_failed');
        break;
      case 'response.created':
        this.#onResponseCreated(event.response);
        break;
      case 'response.done':
        this.#onResponseDone(event.response);
        break;
      case 'response.output_item.added':
        this.#toolCalls.added(event.item);
        break;
      case 'response.output_item.done':
        this.#emitCall(this.#toolCalls.itemDone(event.response_id, event.item));
        break;
      case 'response.function_call_arguments.done':
        this.#emitCall(
          this.#toolCalls.argumentsDone(event.response_id, event.item_id, {
            callId: event.call_id,
            name: event.name ?? null,
            args: event.arguments,
          }),
        );
        break;
      case 'response.output_audio.done':
        this.#events.emit('outputAudioDone', { responseId: event.response_id, itemId: event.item_id });
        break;
      case 'response.output_audio_transcript.delta':
      case 'response.output_text.delta':
        this.#emitWords(event, event.delta, false);
        break;
      case 'response.output_audio_transcript.done':
        this.#emitWords(event, event.transcript, true);
        break;
      case 'response.output_text.done':
        this.#emitWords(event, event.text, true);
        break;
      default:
        event satisfies never;
    }
  }

  #onAudio(event: AudioEvent): void {
    const { delta } = event;
    if (this.#item === null || event.item_id !== this.#itemId) this.#item = this.#itemOf(event);
    this.#item.bytes += audioByteLength(delta);
    if (event.response_id !== this.#responseId) this.#responseId = event.response_id;
    // One string for every delta of an item, whose hash is known wherever it is looked up.
    const [itemId, responseId] = [this.#itemId, this.#responseId];
    if (this.#responses.isCancelled(responseId)) return;
    this.#events.emit('outputAudio', { responseId, itemId, audio: delta });
  }

  #itemOf({ item_id: itemId, content_index: contentIndex }: AudioEvent): SpokenItem {
    this.#itemId = itemId;
    const known = this.#spoken.get(itemId);
    if (known) return known;
    const item = { contentIndex: contentIndex ?? 0, bytes: 0 };
    this.#spoken.set(itemId, item);
    return item;
  }

  #emitWords(at: { response_id: string; item_id: string }, text: string, final: boolean): void {
    if (this.#responses.isCancelled(at.response_id)) return;
    this.#events.emit('outputTranscript', { responseId: at.response_id, itemId: at.item_id, text, final });
  }

  #emitCall(call: CompleteCall | null): void {
    if (call) this.#events.emit('toolCall', call);
  }

  #onResponseCreated(response: ServerResponse): void {
    const metadataId = response.metadata?.[REQUEST_ID_METADATA] ?? null;
    const { requestId, cancel } = this.#responses.created(response.id, metadataId, this.#clock.now());
    this.#spokeOverResponse = false;
    if (cancel) this.#link.cancel(response.id);
    this.#events.emit('responseStarted', {
      responseId: response.id,
      ...(requestId === null ? {} : { requestId }),
    });
  }

  #onResponseDone(response: ServerResponse): void {
    const cancelledByUs = this.#responses.isCancelled(response.id);
    for (const call of this.#toolCalls.responseDone(response.id, response.output ?? [])) this.#emitCall(call);
    this.#responses.done(response.id);
    const status = statusOf(response.status);
    const details = response.status_details;
    const errorCode =
      status === 'completed'
        ? null
        : safeCode(details?.error?.code, details?.error?.type, details?.reason, `response_${status}`);
    const usage = usageOf(response.usage);
    // Cut off with nobody speaking and nobody asking: the server's own decision.
    if (status === 'cancelled' && !cancelledByUs && !this.#spokeOverResponse)
      this.#events.emit('interrupted');
    this.#events.emit('responseDone', {
      responseId: response.id,
      status,
      ...(usage ? { usage } : {}),
      ...(errorCode === null ? {} : { errorCode }),
    });
  }
}

function statusOf(status: string | null | undefined): ResponseStatus {
  switch (status) {
    case 'cancelled':
    case 'failed':
    case 'incomplete':
      return status;
    default:
      return 'completed';
  }
}

function usageOf(usage: ServerResponse['usage']): ModelUsage | null {
  if (!usage) return null;
  const { input_tokens, output_tokens, input_token_details, output_token_details } = usage;
  return {
    ...(input_tokens == null ? {} : { inputTokens: input_tokens }),
    ...(output_tokens == null ? {} : { outputTokens: output_tokens }),
    ...(input_token_details?.audio_tokens == null
      ? {}
      : { inputAudioTokens: input_token_details.audio_tokens }),
    ...(output_token_details?.audio_tokens == null
      ? {}
      : { outputAudioTokens: output_token_details.audio_tokens }),
    ...(input_token_details?.cached_tokens == null
      ? {}
      : { cachedInputTokens: input_token_details.cached_tokens }),
  };
}
