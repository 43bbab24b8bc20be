/**
 * `FullDuplexModel`: a model without turns. Sound goes in and out all the time, silence included; it decides by itself
 * when it speaks and when it stops. It forgives nothing: there are no responses to ask for or to cancel, no items to
 * truncate, and its input clock must never stop.
 *
 * @module
 */

import {
  type AudioData,
  type AudioFormat,
  audioBytes,
  audioDurationMs,
  bytesPerMs,
  fromSamples,
  PCM16_16K,
  PCMU_8K,
  sameFormat,
  silence,
  toSamples,
} from '../audio/index.ts';
import type { Clock } from '../clock.ts';
import { Emitter } from '../emitter.ts';
import { VoiceError } from '../errors.ts';
import type {
  HistoryItem,
  ModelCapabilities,
  ModelSessionConfig,
  RealtimeModel,
  RealtimeModelEvents,
  RealtimeModelFactory,
  ResponseRequest,
} from '../model/index.ts';
import { tone } from './model/script.ts';

/** The longest pause of its input that is forgiven. */
export const MAX_INPUT_GAP_MS = 350;
/** What it puts out at a time, for as much input. */
const CHUNK_MS = 100;
/** The caller's voice over its own makes it stop after this long. */
const YIELD_AFTER_MS = 200;
/** Samples above this are a voice, of 32,767. */
const LOUD = 1000;
/** The one response there is. */
const STREAM = 'stream';

export const FULL_DUPLEX_CAPABILITIES: ModelCapabilities = {
  provider: 'full-duplex',
  inputFormats: [PCMU_8K, PCM16_16K],
  outputFormats: [PCMU_8K, PCM16_16K],
  canTruncate: false,
  canCancel: false,
  style: 'full-duplex',
  interruptsItself: true,
  maxSessionMs: 7_200_000,
  needsContinuousInput: true,
};

interface Utterance {
  readonly words: readonly string[];
  readonly durationMs: number;
  saidMs: number;
}

export class FullDuplexModel extends Emitter<RealtimeModelEvents> implements RealtimeModel {
  readonly capabilities = FULL_DUPLEX_CAPABILITIES;
  /** What its user did that such a model has no answer to. */
  readonly violations: string[] = [];
  readonly outputs = new Map<string, string>();
  readonly context: { readonly role: 'user' | 'system'; readonly text: string }[] = [];
  session: ModelSessionConfig | null = null;
  /** Audio it was given, in ms. */
  inputMs = 0;
  /** How often it fell silent because it was talked over. */
  yields = 0;
  isClosed = false;
  readonly #clock: Clock;
  readonly #openCalls = new Set<string>();
  readonly #toSay: Utterance[] = [];
  #inputFormat: AudioFormat = PCMU_8K;
  #outputFormat: AudioFormat = PCMU_8K;
  #lastInputAt = 0;
  #putOutMs = 0;
  #loudMs = 0;
  #callCount = 0;

  constructor(clock: Clock) {
    super();
    this.#clock = clock;
  }

  get isSpeaking(): boolean {
    return this.#toSay.length > 0;
  }

  /** Calls without an output. */
  get openCalls(): readonly string[] {
    return [...this.#openCalls];
  }

  connect(session: ModelSessionConfig): Promise<void> {
    for (const format of [session.inputFormat, session.outputFormat])
      if (!this.capabilities.inputFormats.some((each) => sameFormat(each, format)))
        return Promise.reject(new VoiceError('MODEL_PROTOCOL', 'Not a format of this model.'));
    this.session = session;
    this.#inputFormat = session.inputFormat;
    this.#outputFormat = session.outputFormat;
    this.#lastInputAt = this.#clock.now();
    this.emit('ready', { inputFormat: session.inputFormat, outputFormat: session.outputFormat });
    return Promise.resolve();
  }

  appendAudio(audio: AudioData): void {
    if (this.isClosed) return;
    const now = this.#clock.now();
    const gap = now - this.#lastInputAt;
    if (gap > MAX_INPUT_GAP_MS) this.#refuse(`the input clock stood still for ${gap} ms`);
    this.#lastInputAt = now;
    const durationMs = audioDurationMs(audio, this.#inputFormat);
    this.inputMs += durationMs;
    this.#listen(audio, durationMs);
    // It lives by its input: as much as it hears, so much it puts out.
    while (!this.isClosed && this.#putOutMs + CHUNK_MS <= this.inputMs) this.#putOut();
  }

  addContext(role: 'user' | 'system', text: string): void {
    this.context.push({ role, text });
  }

  sendToolOutput(callId: string, output: string): void {
    if (!this.#openCalls.delete(callId)) this.#refuse(`an output for ${callId}, which is not open`);
    this.outputs.set(callId, output);
  }

  updateSession(): void {
    this.#refuse('its session can not be changed');
  }

  restore(_history: readonly HistoryItem[]): void {
    this.#refuse('its history can not be changed');
  }

  requestResponse(_request: ResponseRequest): void {
    this.#refuse('it was asked for a response');
  }

  cancelResponse(): void {
    this.#refuse('there is no response to cancel');
  }

  truncate(): void {
    this.#refuse('there is no item to truncate');
  }

  deleteItem(): void {
    this.#refuse('there is no item to delete');
  }

  close(): void {
    this.isClosed = true;
    this.#toSay.length = 0;
  }

  // What it does by itself.

  /** Speaks as soon as it has said what it is saying. */
  say(text: string, durationMs: number): void {
    this.#toSay.push({ words: text.split(' '), durationMs, saidMs: 0 });
  }

  /** What it understood of the caller. */
  hear(itemId: string, text: string): void {
    this.emit('inputTranscript', { itemId, text, final: true });
  }

  call(name: string, args = '{}'): string {
    const callId = `call_${++this.#callCount}`;
    this.#openCalls.add(callId);
    this.emit('toolCall', { responseId: STREAM, callId, name, args });
    return callId;
  }

  /** Tells what it has cost since the last time. */
  report(seconds: number): void {
    this.emit('responseDone', { responseId: STREAM, status: 'completed', usage: { seconds } });
  }

  /** The connection breaks. */
  drop(): void {
    this.isClosed = true;
    this.emit('closed', { code: 1006, reason: '' });
  }

  #listen(audio: AudioData, durationMs: number): void {
    const isLoud = toSamples(audioBytes(audio), this.#inputFormat).some((sample) => Math.abs(sample) > LOUD);
    this.#loudMs = isLoud ? this.#loudMs + durationMs : 0;
    if (this.#loudMs < YIELD_AFTER_MS || !this.isSpeaking) return;
    this.#toSay.length = 0;
    this.yields++;
  }

  #putOut(): void {
    this.#putOutMs += CHUNK_MS;
    const utterance = this.#toSay[0];
    if (!utterance) {
      const audio = silence(CHUNK_MS * bytesPerMs(this.#outputFormat), this.#outputFormat);
      this.emit('outputAudio', { responseId: STREAM, itemId: STREAM, audio });
      return;
    }
    const { words, durationMs, saidMs } = utterance;
    const wordsAt = (ms: number) => Math.round((words.length * Math.min(ms, durationMs)) / durationMs);
    const said = words.slice(wordsAt(saidMs), wordsAt(saidMs + CHUNK_MS));
    utterance.saidMs += CHUNK_MS;
    if (utterance.saidMs >= durationMs) this.#toSay.shift();
    if (said.length > 0) {
      const text = `${said.join(' ')} `;
      this.emit('outputTranscript', { responseId: STREAM, itemId: STREAM, text, final: false });
    }
    const { samples } = tone(CHUNK_MS, 440, this.#outputFormat.sampleRate);
    const audio = fromSamples(samples, this.#outputFormat);
    this.emit('outputAudio', { responseId: STREAM, itemId: STREAM, audio });
  }

  #refuse(what: string): void {
    this.violations.push(what);
  }
}

/** Makes `FullDuplexModel`s and keeps them. */
export class FullDuplexModels implements RealtimeModelFactory {
  readonly capabilities = FULL_DUPLEX_CAPABILITIES;
  readonly description = 'a double without turns';
  readonly sessions: FullDuplexModel[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The newest session. */
  get current(): FullDuplexModel {
    const session = this.sessions.at(-1);
    if (!session) throw new Error('No session was opened yet.');
    return session;
  }

  get violations(): string[] {
    return this.sessions.flatMap((session) => session.violations);
  }

  create(): FullDuplexModel {
    const model = new FullDuplexModel(this.#clock);
    this.sessions.push(model);
    return model;
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
