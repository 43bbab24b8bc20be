/**
 * One connection to the fake model: the rules of the GA dialect, kept as strictly as we know the real server to
 * keep them. Everything received, sent and refused is recorded.
 *
 * @module
 */

import { type AudioFormat, bytesPerMs } from '../../audio/index.ts';
import type { Clock, ClockTimer } from '../../clock.ts';
import { type ClientEvent, clientEventSchema, type ResponseParams } from './client-event-schema.ts';
import { Conversation, type ConversationItem } from './conversation.ts';
import { FakeInput } from './fake-input.ts';
import { FakeResponse, type FakeTiming, wire } from './fake-response.ts';
import { eventIdOf, missingItem, type Refusal, refusalOf, unknownType } from './refusal.ts';
import type { FakeTurn, TurnHandler, TypedEvent } from './script.ts';
import {
  applyPatch,
  audioFormatOf,
  defaultSession,
  type EffectiveSession,
  insisted,
  refusedPatch,
} from './session-config.ts';
import { record, SessionRecord, type WireEvent } from './session-record.ts';

export { MAX_RECORDED_EVENTS, type Violation, type WireEvent } from './session-record.ts';

/** The client's end of the connection, as the session sees it. */
export interface FakeModelPeer {
  send(text: string): void;
  close(code: number, reason: string): void;
  terminate(): void;
}

export interface FakeSessionOptions {
  readonly clock: Clock;
  readonly model: string;
  readonly timing: FakeTiming;
  readonly maxSessionMs: number;
  /** From a committed turn to its transcript, in ms. */
  readonly transcriptionDelayMs: number;
  /** Formats that the session insists on, whatever the client asks for. */
  readonly forceFormats: { readonly input?: AudioFormat; readonly output?: AudioFormat } | null;
  /** `false`: `session.update` is never answered. */
  readonly answersSessionUpdate: boolean;
  readonly onTurn: TurnHandler;
  /** The transcript of the next turn; `null` fails the transcription. */
  nextTranscript(): string | null;
  newId(prefix: string): string;
}

export class FakeModelSession extends SessionRecord {
  readonly id: string;
  readonly #options: FakeSessionOptions;
  readonly #peer: FakeModelPeer;
  readonly #conversation = new Conversation();
  readonly #conversationId: string;
  readonly #usedCallIds = new Set<string>();
  readonly #timers = new Set<ClockTimer>();
  #config: EffectiveSession;
  readonly #input: FakeInput;
  #active: FakeResponse | null = null;
  readonly #outOfBand = new Set<FakeResponse>();
  #turnCount = 0;
  #toolOutputs: { callId: string; name: string; output: string }[] = [];
  #spoke = false;
  #open = true;

  constructor(peer: FakeModelPeer, options: FakeSessionOptions) {
    super();
    this.#peer = peer;
    this.#options = options;
    this.id = options.newId('sess');
    this.#conversationId = options.newId('conv');
    const expiresAtS = Math.floor((options.clock.wallNow() + options.maxSessionMs) / 1000);
    this.#config = defaultSession(this.id, options.model, expiresAtS);
    this.#input = this.#makeInput();
    this.#later(options.maxSessionMs, () => {
      this.#error({
        code: 'session_expired',
        message: 'Your session hit the maximum duration of 60 minutes.',
        param: null,
      });
      this.close(1001, 'session_expired');
    });
    this.#send({ type: 'session.created', session: this.#config });
  }

  /** The configuration in force. */
  get config(): EffectiveSession {
    return this.#config;
  }

  get inputFormat(): AudioFormat {
    return audioFormatOf(this.#config.audio.input.format);
  }

  get outputFormat(): AudioFormat {
    return audioFormatOf(this.#config.audio.output.format);
  }

  get items(): readonly ConversationItem[] {
    return this.#conversation.items;
  }

  /** Audio taken in since the start, in ms. */
  get inputMs(): number {
    return this.#input.receivedMs;
  }

  get isOpen(): boolean {
    return this.#open;
  }

  get activeResponseId(): string | null {
    return this.#active?.id ?? null;
  }

  /** Sends any event as it is. */
  inject<E extends TypedEvent>(event: E): void {
    this.#send(event);
  }

  /** Sends text that need not be JSON. */
  injectText(text: string): void {
    this.#peer.send(text);
  }

  /** Speech is heard now, whatever the audio says. */
  startSpeech(): void {
    this.#input.startSpeech(this.inputMs);
  }

  /** The turn that `startSpeech` began is over. */
  endSpeech(): void {
    this.#input.endSpeech(this.inputMs);
  }

  close(code = 1000, reason = ''): void {
    if (!this.#open) return;
    this.disconnected();
    this.#peer.close(code, reason);
  }

  /** Drops the connection without a word. */
  reset(): void {
    if (!this.#open) return;
    this.disconnected();
    this.#peer.terminate();
  }

  /** The client is gone. */
  disconnected(): void {
    this.#open = false;
    for (const timer of this.#timers) timer.clear();
    this.#timers.clear();
    this.#active?.drop();
    for (const response of this.#outOfBand) response.drop();
  }

  /** One message of the client's. */
  receive(data: string | Uint8Array): void {
    if (!this.#open) return;
    if (typeof data !== 'string') {
      this.#refuse({ code: 'invalid_binary', message: 'Messages are JSON text.', param: null }, null);
      return;
    }
    let json: unknown;
    try {
      json = JSON.parse(data);
    } catch {
      this.#refuse({ code: 'invalid_json', message: 'The message is not valid JSON.', param: null }, null);
      return;
    }
    const parsed = clientEventSchema.safeParse(json);
    if (!parsed.success) {
      this.#refuse(unknownType(json) ?? refusalOf(parsed.error, json), json);
      return;
    }
    if (parsed.data.type !== 'input_audio_buffer.append') record(this.received, parsed.data);
    const refusal = this.#handle(parsed.data);
    if (refusal) this.#refuse(refusal, parsed.data);
  }

  #handle(event: ClientEvent): Refusal | null {
    switch (event.type) {
      case 'session.update':
        return this.#updateSession(event);
      case 'input_audio_buffer.append':
        this.#input.append(event.audio);
        return null;
      case 'input_audio_buffer.commit':
        return this.#input.commit();
      case 'input_audio_buffer.clear':
        this.#input.clear();
        return null;
      case 'conversation.item.create':
        return this.#createItem(event);
      case 'conversation.item.retrieve': {
        const item = this.#conversation.find(event.item_id);
        if (!item) return missingItem('retriev', 'retrieve', event.item_id);
        this.#send({ type: 'conversation.item.retrieved', item: wire(item) });
        return null;
      }
      case 'conversation.item.delete':
        if (!this.#conversation.remove(event.item_id)) return missingItem('delet', 'delete', event.item_id);
        this.#send({ type: 'conversation.item.deleted', item_id: event.item_id });
        return null;
      case 'conversation.item.truncate':
        return this.#truncate(event.item_id, event.content_index, event.audio_end_ms);
      case 'response.create':
        return this.#createResponse(event.response ?? null);
      case 'response.cancel':
        return this.#cancelResponse(event.response_id ?? null);
      case 'output_audio_buffer.clear':
        return {
          code: 'invalid_event_for_transport',
          message: 'output_audio_buffer.clear is not available over WebSocket.',
          param: 'type',
        };
      default:
        return event satisfies never;
    }
  }

  #updateSession({ session: patch }: Extract<ClientEvent, { type: 'session.update' }>): Refusal | null {
    const refusal = refusedPatch(this.#config, patch, this.#spoke);
    if (refusal) return refusal;
    this.#config = insisted(applyPatch(this.#config, patch), this.#options.forceFormats);
    this.#input.reconfigured();
    if (this.#options.answersSessionUpdate) this.#send({ type: 'session.updated', session: this.#config });
    return null;
  }

  #makeInput(): FakeInput {
    const session = this;
    const { transcriptionDelayMs } = this.#options;
    return new FakeInput({
      get config() {
        return session.config;
      },
      get inputFormat() {
        return session.inputFormat;
      },
      get lastItemId() {
        return session.items.at(-1)?.id ?? null;
      },
      transcriptionDelayMs,
      send: (event) => this.#send(event),
      addItem: (item) => this.#addItem(item, null),
      newId: (prefix) => this.#options.newId(prefix),
      nextTranscript: () => this.#options.nextTranscript(),
      later: (ms, run) => this.#later(ms, run),
      speechStarted: () => {
        const interrupts = this.#config.audio.input.turn_detection?.interrupt_response ?? true;
        if (interrupts) this.#active?.cancel('turn_detected');
      },
      turnEnded: (heard) => {
        const creates = this.#config.audio.input.turn_detection?.create_response ?? true;
        // A turn that ends while the model still talks gets no response of its own.
        if (creates && !this.#active) this.#respond('speech', null, heard);
      },
    });
  }

  #createItem(event: Extract<ClientEvent, { type: 'conversation.item.create' }>): Refusal | null {
    const { item } = event;
    const id = item.id ?? this.#options.newId('item');
    if (this.#conversation.find(id)) {
      const message = `Error adding item: an item with id '${id}' already exists.`;
      return { code: 'item_create_duplicate_item_id', message, param: 'item.id' };
    }
    if (item.type === 'function_call_output') {
      const call = this.#conversation.findCall(item.call_id);
      if (!call) {
        const message = `Tool call ID '${item.call_id}' not found in conversation.`;
        return { code: 'invalid_tool_call_id', message, param: null };
      }
      if (this.#conversation.hasOutput(item.call_id)) {
        const message = `Tool call ID '${item.call_id}' already has an output.`;
        return { code: 'invalid_tool_call_id', message, param: null };
      }
      this.#toolOutputs.push({ callId: item.call_id, name: call.name ?? '', output: item.output });
    }
    if (item.type === 'function_call' && item.call_id !== undefined) this.#usedCallIds.add(item.call_id);
    const { object: _object, ...rest } = item;
    const added = this.#addItem(
      { ...rest, id, status: 'completed' } as ConversationItem,
      event.previous_item_id ?? null,
    );
    if (added) return null;
    const message = `Error adding item: the previous item with id '${event.previous_item_id}' does not exist.`;
    return { code: 'item_create_invalid_previous_item_id', message, param: 'previous_item_id' };
  }

  #addItem(item: ConversationItem, afterId: string | null): boolean {
    const previous = this.#conversation.add(item, afterId);
    if (previous === undefined) return false;
    this.#send({ type: 'conversation.item.added', previous_item_id: previous, item: wire(item) });
    this.#send({ type: 'conversation.item.done', previous_item_id: previous, item: wire(item) });
    return true;
  }

  #truncate(itemId: string, contentIndex: number, audioEndMs: number): Refusal | null {
    const refusal = this.#conversation.truncate(itemId, audioEndMs, bytesPerMs(this.outputFormat));
    if (refusal) return refusal;
    this.#send({
      type: 'conversation.item.truncated',
      item_id: itemId,
      content_index: contentIndex,
      audio_end_ms: audioEndMs,
    });
    return null;
  }

  #createResponse(params: ResponseParams | null): Refusal | null {
    if (this.#active && params?.conversation !== 'none') {
      const message = `Conversation already has an active response in progress: ${this.#active.id}. Wait until the response is finished before creating a new one.`;
      return { code: 'conversation_already_has_active_response', message, param: null };
    }
    this.#respond('request', params, null);
    return null;
  }

  #cancelResponse(responseId: string | null): Refusal | null {
    const outOfBand = [...this.#outOfBand].find((each) => each.id === responseId);
    const response =
      outOfBand ?? (responseId === null || responseId === this.#active?.id ? this.#active : null);
    if (!response) {
      const message = 'Cancellation failed: no active response found';
      return { code: 'response_cancel_not_active', message, param: null };
    }
    response.cancel('client_cancelled');
    return null;
  }

  #respond(trigger: 'speech' | 'request', params: ResponseParams | null, heard: string | null): void {
    const output = params?.audio?.output;
    const format = output?.format ?? this.#config.audio.output.format;
    const voice = output?.voice ?? this.#config.audio.output.voice;
    const modalities = params?.output_modalities ?? this.#config.output_modalities;
    const response = new FakeResponse(
      {
        clock: this.#options.clock,
        timing: this.#options.timing,
        conversation: this.#conversation,
        conversationId: this.#conversationId,
        format: audioFormatOf(format),
        wireFormat: format,
        voice: typeof voice === 'string' ? voice : voice.id,
        textOnly: modalities.includes('text'),
        send: (event) => this.#sendOutput(event),
        newId: (prefix) => this.#newId(prefix),
        ended: (ended) => {
          if (this.#active === ended) this.#active = null;
          this.#outOfBand.delete(ended);
        },
      },
      params,
    );
    if (response.outOfBand) this.#outOfBand.add(response);
    else this.#active = response;
    const toolOutputs = this.#toolOutputs;
    this.#toolOutputs = [];
    const index = this.#turnCount++;
    response.begin();
    const turn: FakeTurn = {
      index,
      trigger,
      heard,
      lastUserText: lastUserText(this.#conversation.items),
      toolOutputs,
      instructions: params?.instructions ?? this.#config.instructions,
      request: params,
      conversation: this.#conversation.items,
    };
    const failed = (error: unknown) => {
      this.scriptErrors.push(error);
      response.play([{ type: 'fail', code: 'server_error' }]);
    };
    try {
      const actions = this.#options.onTurn(turn);
      if (actions instanceof Promise) actions.then((resolved) => response.play(resolved), failed);
      else response.play(actions);
    } catch (error) {
      failed(error);
    }
  }

  /** Call ids are unique for the life of a session, however a script names them. */
  #newId(prefix: string): string {
    let id = this.#options.newId(prefix);
    while (this.#usedCallIds.has(id)) id = this.#options.newId(prefix);
    if (prefix === 'call') this.#usedCallIds.add(id);
    return id;
  }

  #sendOutput(event: TypedEvent): void {
    if (event.type === 'response.output_audio.delta') this.#spoke = true;
    this.#send(event);
  }

  #refuse(refusal: Refusal, event: unknown): void {
    this.violations.push({ ...refusal, event });
    this.#error(refusal, eventIdOf(event));
  }

  #error({ code, message, param }: Refusal, eventId: string | null = null): void {
    const type = 'invalid_request_error';
    this.#send({ type: 'error', error: { type, code, message, param, event_id: eventId } });
  }

  #send<E extends TypedEvent>(event: E): void {
    if (!this.#open) return;
    const full: WireEvent = { event_id: this.#options.newId('event'), ...(event as TypedEvent) };
    record(this.sent, full);
    this.#peer.send(JSON.stringify(full));
  }

  #later(ms: number, run: () => void): void {
    const timer = this.#options.clock.setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }
}

function lastUserText(items: readonly ConversationItem[]): string | null {
  for (const item of items.toReversed()) {
    if (item.role !== 'user') continue;
    const part = item.content?.find((each) => each.type === 'input_text');
    if (part && typeof part.text === 'string') return part.text;
  }
  return null;
}
