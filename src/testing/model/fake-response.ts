/**
 * One response of the fake model: its actions played out as the event sequence of the real server, paced by a
 * clock, until it is complete or cancelled.
 *
 * @module
 */

import type { RealtimeServerEvent } from 'openai/resources/realtime/realtime';
import { type AudioFormat, audioBase64, bytesPerMs, fromSamples, resample } from '../../audio/index.ts';
import type { Clock, ClockTimer } from '../../clock.ts';
import type { ResponseParams, WireFormat } from './client-event-schema.ts';
import type { Conversation, ConversationItem } from './conversation.ts';
import { type FakeAction, type Sound, type Tone, type TypedEvent, tone } from './script.ts';

export interface FakeTiming {
  /** From `response.created` to the first output, in ms. */
  readonly firstOutputMs: number;
  /** Audio in one delta, in ms. */
  readonly deltaMs: number;
  /** How much faster than speech the audio is generated; `Infinity` sends it in one burst. */
  readonly speed: number;
}

export const DEFAULT_TIMING: FakeTiming = { firstOutputMs: 150, deltaMs: 200, speed: 4 };

/** Text of the function arguments in one delta, in characters. */
const ARGUMENTS_DELTA_CHARS = 16;
/** Output audio of one token, in ms. */
const MS_PER_AUDIO_TOKEN = 50;

export interface ResponseContext {
  readonly clock: Clock;
  readonly timing: FakeTiming;
  readonly conversation: Conversation;
  readonly conversationId: string;
  readonly format: AudioFormat;
  readonly wireFormat: WireFormat;
  readonly voice: string;
  readonly textOnly: boolean;
  send<E extends TypedEvent>(event: E): void;
  newId(prefix: string): string;
  /** Called once, after `response.done` went out. */
  ended(response: FakeResponse): void;
}

type Ending =
  | { readonly status: 'completed' }
  | { readonly status: 'cancelled'; readonly reason: 'client_cancelled' | 'turn_detected' }
  | { readonly status: 'incomplete'; readonly reason: 'max_output_tokens' | 'content_filter' }
  | { readonly status: 'failed'; readonly code: string };

type Unsent<T> = T extends { event_id: string } ? Omit<T, 'event_id'> : T;

/** The item being generated, and how to close it when it is cut off. */
interface OpenItem {
  readonly item: ConversationItem;
  readonly close: (status: 'completed' | 'incomplete') => void;
}

export class FakeResponse {
  readonly id: string;
  readonly #context: ResponseContext;
  readonly #params: ResponseParams | null;
  readonly #output: ConversationItem[] = [];
  #steps: Generator<number, Ending> | null = null;
  #timer: ClockTimer | null = null;
  #open: OpenItem | null = null;
  #audioMs = 0;
  #over = false;

  constructor(context: ResponseContext, params: ResponseParams | null) {
    this.#context = context;
    this.#params = params;
    this.id = context.newId('resp');
  }

  get outOfBand(): boolean {
    return this.#params?.conversation === 'none';
  }

  /** Announces the response; the actions may come later. */
  begin(): void {
    this.#send({ type: 'response.created', response: this.#snapshot(null) });
    this.#send({
      type: 'rate_limits.updated',
      rate_limits: [
        { name: 'requests', limit: 10_000, remaining: 9999, reset_seconds: 0.006 },
        { name: 'tokens', limit: 1_000_000, remaining: 995_000, reset_seconds: 0.3 },
      ],
    });
  }

  play(actions: readonly FakeAction[]): void {
    if (this.#over) return;
    this.#steps = this.#sequence(actions);
    this.#next();
  }

  cancel(reason: 'client_cancelled' | 'turn_detected'): void {
    this.#end({ status: 'cancelled', reason });
  }

  /** The connection is gone: stops without another word. */
  drop(): void {
    this.#over = true;
    this.#timer?.clear();
  }

  #next(): void {
    while (this.#steps && !this.#over) {
      const step = this.#steps.next();
      if (step.done) {
        this.#end(step.value);
        return;
      }
      if (step.value === Number.POSITIVE_INFINITY) return;
      if (step.value > 0) {
        this.#timer = this.#context.clock.setTimeout(() => this.#next(), step.value);
        return;
      }
    }
  }

  /** Yields how long to wait before going on; `Infinity` never goes on. */
  *#sequence(actions: readonly FakeAction[]): Generator<number, Ending> {
    yield this.#context.timing.firstOutputMs;
    for (const action of actions) {
      switch (action.type) {
        case 'say':
          if (this.#context.textOnly) this.#write(action.text);
          else yield* this.#speak(action.text, action.sound);
          break;
        case 'call':
          yield* this.#call(action.name, action.args, action.callId ?? this.#context.newId('call'));
          break;
        case 'wait':
          yield action.ms;
          break;
        case 'stall':
          yield Number.POSITIVE_INFINITY;
          break;
        case 'raw':
          this.#context.send(action.event);
          break;
        case 'incomplete':
          return { status: 'incomplete', reason: action.reason };
        case 'fail':
          return { status: 'failed', code: action.code };
        default:
          action satisfies never;
      }
    }
    return { status: 'completed' };
  }

  *#speak(text: string, sound: Sound | Tone): Generator<number, void> {
    const { timing, conversation, format } = this.#context;
    const bytes = convert(sound, format);
    const at = this.#message('audio', () => text);
    const deltaBytes = Math.round(timing.deltaMs) * bytesPerMs(format);
    const words = text.split(/(?<=\s)/);
    const count = Math.max(1, Math.ceil(bytes.byteLength / deltaBytes));
    for (let n = 0; n < count; n += 1) {
      const delta = words.slice(portion(words, n, count), portion(words, n + 1, count)).join('');
      if (delta !== '') this.#send({ type: 'response.output_audio_transcript.delta', ...at, delta });
      const chunk = bytes.subarray(n * deltaBytes, (n + 1) * deltaBytes);
      if (chunk.byteLength === 0) break;
      conversation.addAudio(at.item_id, chunk.byteLength);
      const ms = chunk.byteLength / bytesPerMs(format);
      this.#audioMs += ms;
      this.#send({ type: 'response.output_audio.delta', ...at, delta: audioBase64(chunk) });
      if (n < count - 1) yield ms / timing.speed;
    }
    this.#close('completed');
  }

  #write(text: string): void {
    const at = this.#message('text', () => text);
    this.#send({ type: 'response.output_text.delta', ...at, delta: text });
    this.#close('completed');
  }

  /** Opens an assistant message with one part. */
  #message(kind: 'audio' | 'text', words: () => string) {
    const item: ConversationItem = {
      id: this.#context.newId('item'),
      type: 'message',
      role: 'assistant',
      status: 'in_progress',
      content: [],
    };
    const at = {
      response_id: this.id,
      item_id: item.id,
      output_index: this.#output.length,
      content_index: 0,
    };
    const part = (text: string) =>
      kind === 'audio' ? { type: 'audio' as const, transcript: text } : { type: 'text' as const, text };
    this.#openItem(item, (status) => {
      if (kind === 'audio') {
        this.#send({ type: 'response.output_audio.done', ...at });
        this.#send({ type: 'response.output_audio_transcript.done', ...at, transcript: words() });
      } else {
        this.#send({ type: 'response.output_text.done', ...at, text: words() });
      }
      this.#send({ type: 'response.content_part.done', ...at, part: part(words()) });
      item.status = status;
      item.content = [
        kind === 'audio'
          ? { type: 'output_audio', transcript: words() }
          : { type: 'output_text', text: words() },
      ];
    });
    this.#send({ type: 'response.content_part.added', ...at, part: part('') });
    return at;
  }

  *#call(name: string, args: string, callId: string): Generator<number, void> {
    const item: ConversationItem = {
      id: this.#context.newId('item'),
      type: 'function_call',
      status: 'in_progress',
      name,
      call_id: callId,
      arguments: '',
    };
    const at = {
      response_id: this.id,
      item_id: item.id,
      output_index: this.#output.length,
      call_id: callId,
    };
    this.#openItem(item, (status) => {
      item.status = status;
      if (status === 'incomplete') return;
      item.arguments = args;
      this.#send({ type: 'response.function_call_arguments.done', ...at, name, arguments: args });
    });
    for (let n = 0; n < args.length; n += ARGUMENTS_DELTA_CHARS) {
      const delta = args.slice(n, n + ARGUMENTS_DELTA_CHARS);
      this.#send({ type: 'response.function_call_arguments.delta', ...at, delta });
      yield 10 / this.#context.timing.speed;
    }
    this.#close('completed');
  }

  #openItem(item: ConversationItem, close: OpenItem['close']): void {
    this.#open = { item, close };
    this.#itemEvent('response.output_item.added', item);
    if (!this.outOfBand) {
      const previous = this.#context.conversation.add(item, null) ?? null;
      this.#context.send({ type: 'conversation.item.added', previous_item_id: previous, item: wire(item) });
    }
  }

  #close(status: 'completed' | 'incomplete'): void {
    const open = this.#open;
    if (!open) return;
    this.#open = null;
    open.close(status);
    this.#itemEvent('response.output_item.done', open.item);
    this.#output.push(open.item);
    if (this.outOfBand) return;
    const previous = this.#context.conversation.previousOf(open.item.id);
    this.#context.send({ type: 'conversation.item.done', previous_item_id: previous, item: wire(open.item) });
  }

  #itemEvent(type: 'response.output_item.added' | 'response.output_item.done', item: ConversationItem): void {
    this.#context.send({ type, response_id: this.id, output_index: this.#output.length, item: wire(item) });
  }

  #end(ending: Ending): void {
    if (this.#over) return;
    this.#close(ending.status === 'completed' ? 'completed' : 'incomplete');
    this.#over = true;
    this.#timer?.clear();
    this.#context.send({ type: 'response.done', response: this.#snapshot(ending) });
    this.#context.ended(this);
  }

  #snapshot(ending: Ending | null) {
    const audioTokens = Math.ceil(this.#audioMs / MS_PER_AUDIO_TOKEN);
    return {
      object: 'realtime.response' as const,
      id: this.id,
      conversation_id: this.outOfBand ? undefined : this.#context.conversationId,
      status: ending?.status ?? ('in_progress' as const),
      status_details: ending === null || ending.status === 'completed' ? undefined : statusDetails(ending),
      output_modalities: [this.#context.textOnly ? ('text' as const) : ('audio' as const)],
      max_output_tokens: 'inf' as const,
      audio: { output: { format: this.#context.wireFormat, voice: this.#context.voice } },
      metadata: this.#params?.metadata ?? null,
      output: this.#output.map(wire),
      usage:
        ending === null
          ? undefined
          : {
              total_tokens: 120 + audioTokens,
              input_tokens: 100,
              output_tokens: 20 + audioTokens,
              input_token_details: { text_tokens: 60, audio_tokens: 40, cached_tokens: 0 },
              output_token_details: { text_tokens: 20, audio_tokens: audioTokens },
            },
    };
  }

  /** Events whose shape the official types can check; items of ours go through `context.send`. */
  #send(event: Unsent<RealtimeServerEvent> | ResponseStarted): void {
    this.#context.send(event);
  }
}

interface ResponseStarted extends TypedEvent {
  readonly type: 'response.created';
  readonly response: object;
}

function statusDetails(ending: Exclude<Ending, { status: 'completed' }>) {
  if (ending.status === 'failed') {
    const error = { type: 'server_error', code: ending.code, message: 'Scripted failure.' };
    return { type: ending.status, error };
  }
  return { type: ending.status, reason: ending.reason };
}

/** An item as it goes out. */
export function wire(item: ConversationItem): Readonly<Record<string, unknown>> {
  return { object: 'realtime.item', ...item };
}

function convert(sound: Sound | Tone, format: AudioFormat): Uint8Array {
  const { samples, sampleRate } =
    'samples' in sound ? sound : tone(sound.durationMs, sound.hz, format.sampleRate);
  return fromSamples(resample(samples, sampleRate, format.sampleRate), format);
}

function portion(words: readonly string[], n: number, count: number): number {
  return Math.round((words.length * n) / count);
}
