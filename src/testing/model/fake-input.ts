/**
 * The caller's side of a fake session: the input buffer, voice detection over it, committed turns and their
 * transcripts.
 *
 * @module
 */

import { type AudioFormat, audioByteLength, bytesPerMs, toSamples } from '../../audio/index.ts';
import type { ConversationItem } from './conversation.ts';
import { EnergyVad } from './energy-vad.ts';
import type { Refusal } from './refusal.ts';
import type { TypedEvent } from './script.ts';
import { type EffectiveSession, turnSilenceMs } from './session-config.ts';

/** Shortest input that `commit` takes. */
const MIN_COMMIT_MS = 100;

export interface InputHost {
  readonly config: EffectiveSession;
  readonly inputFormat: AudioFormat;
  readonly transcriptionDelayMs: number;
  /** Id of the newest item, or `null`. */
  readonly lastItemId: string | null;
  send<E extends TypedEvent>(event: E): void;
  addItem(item: ConversationItem): void;
  newId(prefix: string): string;
  nextTranscript(): string | null;
  later(ms: number, run: () => void): void;
  /** The caller begins to speak. */
  speechStarted(): void;
  /** Voice detection ended a turn. */
  turnEnded(heard: string | null): void;
}

export class FakeInput {
  readonly #host: InputHost;
  #vad: EnergyVad;
  /** Audio taken in since the start, in ms. */
  #receivedMs = 0;
  #uncommittedMs = 0;
  #speechItemId: string | null = null;

  constructor(host: InputHost) {
    this.#host = host;
    this.#vad = new EnergyVad(host.inputFormat.sampleRate);
  }

  get receivedMs(): number {
    return this.#receivedMs;
  }

  /** The input format may have changed. */
  reconfigured(): void {
    const { sampleRate } = this.#host.inputFormat;
    if (sampleRate !== this.#vad.sampleRate) this.#vad = new EnergyVad(sampleRate);
  }

  append(audio: string): void {
    const { inputFormat, config } = this.#host;
    const ms = audioByteLength(audio) / bytesPerMs(inputFormat);
    this.#receivedMs += ms;
    this.#uncommittedMs += ms;
    const detection = config.audio.input.turn_detection;
    if (!detection) return;
    const samples = toSamples(audio, inputFormat);
    const prefixMs = detection.type === 'server_vad' ? (detection.prefix_padding_ms ?? 300) : 300;
    for (const event of this.#vad.push(samples, prefixMs, turnSilenceMs(detection))) {
      if (event.type === 'started') this.startSpeech(event.audioStartMs);
      else this.endSpeech(event.audioEndMs);
    }
  }

  clear(): void {
    this.#uncommittedMs = 0;
    this.#speechItemId = null;
    this.#vad.reset();
    this.#host.send({ type: 'input_audio_buffer.cleared' });
  }

  startSpeech(audioStartMs: number): void {
    this.#speechItemId = this.#host.newId('item');
    this.#host.send({
      type: 'input_audio_buffer.speech_started',
      audio_start_ms: Math.round(audioStartMs),
      item_id: this.#speechItemId,
    });
    this.#host.speechStarted();
  }

  endSpeech(audioEndMs: number): void {
    const itemId = this.#speechItemId ?? this.#host.newId('item');
    this.#host.send({
      type: 'input_audio_buffer.speech_stopped',
      audio_end_ms: Math.round(audioEndMs),
      item_id: itemId,
    });
    this.#host.turnEnded(this.#commitItem(itemId));
  }

  commit(): Refusal | null {
    if (this.#uncommittedMs < MIN_COMMIT_MS) {
      const have = this.#uncommittedMs.toFixed(2);
      return {
        code: 'input_audio_buffer_commit_empty',
        message: `Error committing input audio buffer: buffer too small. Expected at least 100ms of audio, but buffer only has ${have}ms of audio.`,
        param: null,
      };
    }
    this.#vad.reset();
    this.#commitItem(this.#speechItemId ?? this.#host.newId('item'));
    return null;
  }

  /** Turns the input buffer into a user item; its transcript follows later. Returns what will be in it. */
  #commitItem(itemId: string): string | null {
    this.#uncommittedMs = 0;
    this.#speechItemId = null;
    const previous = this.#host.lastItemId;
    this.#host.send({ type: 'input_audio_buffer.committed', previous_item_id: previous, item_id: itemId });
    const item: ConversationItem = {
      id: itemId,
      type: 'message',
      role: 'user',
      status: 'completed',
      content: [{ type: 'input_audio', transcript: null }],
    };
    this.#host.addItem(item);
    const transcript = this.#host.nextTranscript();
    if (this.#host.config.audio.input.transcription) {
      this.#host.later(this.#host.transcriptionDelayMs, () => this.#transcribed(item, transcript));
    }
    return transcript;
  }

  #transcribed(item: ConversationItem, transcript: string | null): void {
    const at = { item_id: item.id, content_index: 0 };
    const name = 'conversation.item.input_audio_transcription';
    if (transcript === null) {
      const error = {
        type: 'transcription_error',
        code: 'audio_unintelligible',
        message: 'Scripted failure.',
      };
      this.#host.send({ type: `${name}.failed`, ...at, error });
      return;
    }
    item.content = [{ type: 'input_audio', transcript }];
    const half = Math.ceil(transcript.length / 2);
    for (const delta of [transcript.slice(0, half), transcript.slice(half)]) {
      if (delta !== '') this.#host.send({ type: `${name}.delta`, ...at, delta });
    }
    const usage = { type: 'tokens', total_tokens: 20, input_tokens: 15, output_tokens: 5 };
    const input_token_details = { text_tokens: 0, audio_tokens: 15 };
    this.#host.send({
      type: `${name}.completed`,
      ...at,
      transcript,
      usage: { ...usage, input_token_details },
    });
  }
}
