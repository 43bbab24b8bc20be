/**
 * The offline model: a `RealtimeModel` whose understanding is a grammar of phrases and whose voice is our own
 * synthesiser. It behaves on the wire as the GA realtime dialect does (one active response, the caller's
 * speech cancels it, errors with the same codes), so that a call through it exercises the whole engine.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import {
  type AudioData,
  type AudioFormat,
  audioDurationMs,
  loadAudio,
  sameFormat,
} from '../../audio/index.ts';
import type { Clock } from '../../clock.ts';
import { Emitter } from '../../emitter.ts';
import { VoiceError } from '../../errors.ts';
import type { ToolDefinition } from '../../gateway/index.ts';
import type { Logger } from '../../observe/index.ts';
import type {
  EndpointerOptions,
  PronouncingDictionary,
  Recogniser,
  Synthesiser,
} from '../../speech/index.ts';
import type {
  HistoryItem,
  ModelCapabilities,
  ModelSessionConfig,
  RealtimeModel,
  RealtimeModelEvents,
  ResponseRequest,
} from '../contract.ts';
import { Commands } from './commands.ts';
import { Conversation } from './conversation.ts';
import { type Answer, Dialogue, SILENT, type ToolOutcome } from './dialogue.ts';
import { Ear } from './ear.ts';
import type { SlotTable } from './pattern.ts';
import type { PhraseBook } from './phrase-file.ts';
import type { CommandPrompts } from './prompts.ts';
import { Responder } from './responder.ts';
import { SlotSource, type SlotValues } from './slots.ts';

/** Audio kept while the session is not ready; the oldest is dropped. */
export const MAX_HELD_AUDIO_MS = 5000;

/** Utterances that wait to be recognised or answered; later ones are dropped. */
export const MAX_WAITING_TURNS = 4;

/** Tool calls without an output. */
export const MAX_OPEN_CALLS = 64;

/** Unrecognised speech shorter than this gets no answer: a cough, a door. */
const MIN_ANSWERED_SPEECH_MS = 250;

export interface CommandModelOptions {
  readonly capabilities: ModelCapabilities;
  readonly book: PhraseBook;
  readonly prompts: CommandPrompts;
  readonly dictionary: PronouncingDictionary;
  readonly synthesiser: Synthesiser;
  readonly recogniser: Recogniser;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly slotValues: SlotValues | undefined;
  readonly endpointing: EndpointerOptions | undefined;
}

type State = 'new' | 'ready' | 'closed';

export class CommandModel extends Emitter<RealtimeModelEvents> implements RealtimeModel {
  readonly capabilities: ModelCapabilities;
  readonly #options: CommandModelOptions;
  readonly #slots: SlotSource;
  readonly #dialogue: Dialogue;
  readonly #conversation: Conversation;
  readonly #openCalls = new Map<string, { readonly name: string; readonly args: string }>();
  /** In no two sessions alike, so that a call that changes sessions can't mix up their items. */
  readonly #session = randomUUID().slice(0, 8);
  #state: State = 'new';
  #count = 0;
  #tools: ReadonlySet<string> = new Set();
  #slotTable: SlotTable = new Map();
  #commands: Commands;
  #ear: Ear | null = null;
  #responder: Responder | null = null;
  #inputFormat: AudioFormat;
  #held: AudioData[] = [];
  #heldMs = 0;
  #speechItemId = '';
  #understanding: Promise<void> = Promise.resolve();
  #waitingToUnderstand = 0;
  /** Turns that were understood while a response was active: what was said, or `null` for none of the phrases. */
  readonly #turns: (string | null)[] = [];
  #outputs: ToolOutcome[] = [];
  #typed: string | null = null;
  #notes: string[] = [];

  constructor(options: CommandModelOptions) {
    super();
    this.capabilities = options.capabilities;
    this.#options = options;
    this.#dialogue = new Dialogue(options.prompts, options.dictionary.locale);
    this.#conversation = new Conversation(() => this.#nextId('item'));
    this.#commands = new Commands(options.book, this.#tools, this.#slotTable);
    this.#inputFormat = choose(options.capabilities.inputFormats, undefined);
    this.#slots = new SlotSource({ ...options, names: options.book.openSlots });
  }

  async connect(session: ModelSessionConfig): Promise<void> {
    if (this.#state !== 'new')
      throw new VoiceError('MODEL_SESSION_CLOSED', 'This session was opened before.');
    this.#inputFormat = choose(this.capabilities.inputFormats, session.inputFormat);
    const outputFormat = choose(this.capabilities.outputFormats, session.outputFormat);
    this.#setTools(session.tools);
    await Promise.all([this.#options.clock.track(loadAudio()), this.#refreshSlots()]);
    if (this.#isClosed())
      throw new VoiceError('MODEL_SESSION_CLOSED', 'The session was closed while it opened.');
    this.restore(session.history ?? []);
    this.#ear = new Ear(this.#inputFormat, this.#earEvents(), this.#options.endpointing);
    this.#responder = new Responder({
      synthesiser: this.#options.synthesiser,
      clock: this.#options.clock,
      format: outputFormat,
      conversation: this.#conversation,
      nextId: (kind) => this.#nextId(kind),
      emit: (event, ...args) => this.emit(event, ...args),
      onCall: (callId, name, args) => this.#callMade(callId, name, args),
      onFree: () => this.#nextTurn(),
    });
    this.#state = 'ready';
    this.#warmUp();
    this.emit('ready', { inputFormat: this.#inputFormat, outputFormat });
    const held = this.#held;
    this.#held = [];
    for (const audio of held) this.#ear.hear(audio);
  }

  updateSession(changes: { instructions?: string; tools?: readonly ToolDefinition[] }): void {
    if (changes.tools) this.#setTools(changes.tools);
  }

  restore(history: readonly HistoryItem[]): void {
    for (const { role, text } of history) this.#conversation.addText(role, text);
  }

  appendAudio(audio: AudioData): void {
    switch (this.#state) {
      case 'ready':
        this.#ear?.hear(audio);
        return;
      case 'new':
        this.#hold(audio);
        return;
      case 'closed':
        return;
      default:
        this.#state satisfies never;
    }
  }

  addContext(role: 'user' | 'system', text: string): void {
    this.#conversation.addText(role, text);
    if (role === 'user') this.#typed = text;
    else this.#notes = [...this.#notes, text].slice(-MAX_WAITING_TURNS);
  }

  sendToolOutput(callId: string, output: string): void {
    const call = this.#openCalls.get(callId);
    if (!call) {
      this.#problem('invalid_tool_call_id', 'There is no open tool call of this id.');
      return;
    }
    this.#openCalls.delete(callId);
    this.#outputs.push({ ...call, output });
  }

  requestResponse(request: ResponseRequest): void {
    if (this.#isClosed() || !this.#responder) return;
    if (this.#responder.isActive) {
      const { requestId } = request;
      this.#problem('conversation_already_has_active_response', 'A response is active.', requestId);
      return;
    }
    this.#responder.start(this.#requested(request), request.requestId);
  }

  cancelResponse(): void {
    if (!this.#responder?.cancel()) this.#problem('response_cancel_not_active', 'No response is active.');
  }

  truncate(itemId: string, heardMs: number): void {
    const outcome = this.#conversation.truncate(itemId, heardMs);
    if (outcome === 'unknown-item') this.#problem('item_not_found', 'There is no spoken item of this id.');
    else if (outcome === 'beyond-end')
      this.#problem('invalid_value', 'The item’s audio is shorter than that.');
  }

  deleteItem(itemId: string): void {
    if (!this.#conversation.delete(itemId)) this.#problem('item_not_found', 'There is no item of this id.');
  }

  close(): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#responder?.close();
    this.#ear?.close();
    this.#held = [];
    this.#turns.length = 0;
    queueMicrotask(() => this.emit('closed', { code: 1000, reason: 'closed by us' }));
  }

  // ---- what the caller says

  #earEvents() {
    return {
      onSpeechStarted: (audioStartMs: number) => {
        this.#speechItemId = this.#nextId('item');
        this.emit('speechStarted', { itemId: this.#speechItemId, audioStartMs });
        if (this.capabilities.interruptsItself) this.#responder?.cancel();
        // By the time the words are out, a file made meanwhile can be asked for.
        void this.#refreshSlots();
      },
      onSpeechStopped: (audioEndMs: number, samples: Int16Array, speechMs: number) => {
        const itemId = this.#speechItemId;
        this.emit('speechStopped', { itemId, audioEndMs });
        this.emit('inputCommitted', { itemId });
        if (this.#waitingToUnderstand >= MAX_WAITING_TURNS) return;
        this.#waitingToUnderstand++;
        this.#understanding = this.#understanding.then(async () => {
          await this.#understand(itemId, samples, speechMs);
          this.#waitingToUnderstand--;
        });
      },
    };
  }

  async #understand(itemId: string, samples: Int16Array, speechMs: number): Promise<void> {
    await this.#refreshSlots();
    if (this.#isClosed()) return;
    let text: string | null = null;
    let isHeard = true;
    try {
      const { grammar } = this.#commands;
      ({ text } = await this.#options.clock.track(this.#options.recogniser.recognise(samples, grammar)));
    } catch (error) {
      isHeard = false;
      this.#options.logger.warn({ err: error }, 'an utterance could not be recognised');
    }
    if (this.#isClosed()) return;
    if (text !== null) {
      this.#conversation.addText('user', text, itemId);
      this.emit('inputTranscript', { itemId, text, final: true });
    } else {
      // There is nothing to understand in it: whoever was interrupted by it may go on.
      if (isHeard) this.emit('inputTranscript', { itemId, text: '', final: true });
      if (speechMs < MIN_ANSWERED_SPEECH_MS) return;
    }
    if (this.#turns.length < MAX_WAITING_TURNS) this.#turns.push(text);
    this.#nextTurn();
  }

  #nextTurn(): void {
    if (this.#isClosed() || !this.#responder || this.#responder.isActive || this.#turns.length === 0) return;
    const [text = null] = this.#turns.splice(0, 1);
    this.#responder.start(this.#answer(text));
  }

  // ---- what we answer

  #answer(text: string | null): Answer {
    return this.#dialogue.answer(text, {
      commands: this.#commands,
      tools: this.#tools,
      lastHeard: this.#conversation.lastHeard(),
      toolsRun: this.#openCalls.size > 0,
    });
  }

  #requested({ say, instructions }: ResponseRequest): Answer {
    if (say !== undefined) return { say, calls: [] };
    const outputs = this.#outputs;
    this.#outputs = [];
    if (outputs.length > 0) return this.#dialogue.report(outputs);
    const typed = this.#typed;
    this.#typed = null;
    if (typed !== null) return this.#answer(typed);
    const notes = this.#notes;
    this.#notes = [];
    if (instructions !== undefined) return this.#dialogue.instructed(instructions, this.#openCalls.size > 0);
    return notes.length > 0 ? this.#dialogue.noted(notes) : SILENT;
  }

  #callMade(callId: string, name: string, args: string): void {
    this.#openCalls.set(callId, { name, args });
    const [oldest] = this.#openCalls.keys();
    if (this.#openCalls.size > MAX_OPEN_CALLS && oldest !== undefined) this.#openCalls.delete(oldest);
  }

  // ---- the session itself

  #setTools(tools: readonly ToolDefinition[]): void {
    this.#tools = new Set(tools.map((tool) => tool.function.name));
    this.#commands = new Commands(this.#options.book, this.#tools, this.#slotTable);
  }

  async #refreshSlots(): Promise<void> {
    const table = await this.#slots.refresh();
    if (table === this.#slotTable) return;
    this.#slotTable = table;
    this.#commands = new Commands(this.#options.book, this.#tools, table);
  }

  /** Loads the acoustic model and the grammar while the caller is being greeted. */
  #warmUp(): void {
    const { clock, recogniser, logger } = this.#options;
    clock.track(recogniser.recognise(new Int16Array(1600), this.#commands.grammar)).catch((error) => {
      logger.warn({ err: error }, 'the recogniser is not ready');
    });
  }

  #hold(audio: AudioData): void {
    const ms = (each: AudioData) => audioDurationMs(each, this.#inputFormat);
    this.#held.push(audio);
    this.#heldMs += ms(audio);
    while (this.#heldMs > MAX_HELD_AUDIO_MS && this.#held.length > 1) {
      const dropped = this.#held.shift();
      if (dropped !== undefined) this.#heldMs -= ms(dropped);
    }
  }

  /** Not a comparison in place: after an `await` the state may have changed. */
  #isClosed(): boolean {
    return this.#state === 'closed';
  }

  /** Errors come later, as from a server, never from inside the call that made them. */
  #problem(code: string, message: string, requestId?: string): void {
    queueMicrotask(() => {
      if (this.#isClosed()) return;
      this.emit('error', {
        severity: 'benign',
        code,
        message,
        ...(requestId === undefined ? {} : { requestId }),
      });
    });
  }

  #nextId(kind: 'resp' | 'item' | 'call'): string {
    return `${kind}_${this.#session}_${++this.#count}`;
  }
}

function choose(formats: readonly AudioFormat[], wanted: AudioFormat | undefined): AudioFormat {
  const [first] = formats;
  const found = wanted && formats.find((format) => sameFormat(format, wanted));
  if (!found && !first) throw new VoiceError('AUDIO_FORMAT_UNSUPPORTED', 'The model has no audio format.');
  return found ?? (first as AudioFormat);
}
