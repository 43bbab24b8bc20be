/**
 * The model's side of a call: one normalised contract over every realtime dialect, turn-based or full duplex.
 *
 * @module
 */

import type { AudioData, AudioFormat } from '../audio/index.ts';
import type { Emitter } from '../emitter.ts';
import type { ToolDefinition } from '../gateway/index.ts';

export interface ModelCapabilities {
  /** Short stable name for records and metrics, e.g. `openai`, `command`. */
  readonly provider: string;
  /** Formats it takes, best first. */
  readonly inputFormats: readonly AudioFormat[];
  /** Formats it speaks, best first. */
  readonly outputFormats: readonly AudioFormat[];
  readonly canTruncate: boolean;
  readonly canCancel: boolean;
  /** `turns`: responses that can be asked for and cancelled. `full-duplex`: it decides by itself when it speaks. */
  readonly style: 'turns' | 'full-duplex';
  /** Its own voice detection cancels the running response when the caller speaks. */
  readonly interruptsItself: boolean;
  /** Longest session in ms; `null` when there is no limit. */
  readonly maxSessionMs: number | null;
  /** Its input clock must never stop: silence is sent where the caller's audio pauses. */
  readonly needsContinuousInput?: boolean;
}

export interface ModelSessionConfig {
  readonly instructions: string;
  readonly tools: readonly ToolDefinition[];
  /** What we ask for; the formats of `ready` are the ones that count. */
  readonly inputFormat: AudioFormat;
  readonly outputFormat: AudioFormat;
  /** Heard-only history, oldest first, restored right after the session is ready. */
  readonly history?: readonly HistoryItem[];
}

export interface HistoryItem {
  readonly role: 'user' | 'assistant' | 'system';
  readonly text: string;
}

export interface ModelUsage {
  readonly inputTokens?: number;
  readonly outputTokens?: number;
  readonly inputAudioTokens?: number;
  readonly outputAudioTokens?: number;
  readonly cachedInputTokens?: number;
  /** Of a model that is paid by time. */
  readonly seconds?: number;
}

export type ResponseStatus = 'completed' | 'cancelled' | 'failed' | 'incomplete';

export interface ModelError {
  /** `fatal`: never retry this session or a new one. `retryable`: a new session may work. `benign`: go on. */
  readonly severity: 'fatal' | 'retryable' | 'benign';
  /** The provider's code, or one of ours; never free text. */
  readonly code: string;
  /** Safe for a log at the default level: no key, no transcript. */
  readonly message: string;
  /** The `requestId` of the request that failed, when the provider named it. */
  readonly requestId?: string;
}

export interface RealtimeModelEvents {
  /** The session is configured; from here the given formats are what is on the wire. */
  ready: [session: { inputFormat: AudioFormat; outputFormat: AudioFormat }];
  speechStarted: [at: { itemId?: string; audioStartMs?: number }];
  speechStopped: [at: { itemId?: string; audioEndMs?: number }];
  /** The caller's turn is committed; its transcript may come later or never. */
  inputCommitted: [turn: { itemId: string }];
  /** What the caller said in one turn: the whole text so far, and with `final` the last word on it. */
  inputTranscript: [transcript: { itemId: string; text: string; final: boolean }];
  responseStarted: [response: { responseId: string; requestId?: string }];
  outputAudio: [audio: { responseId: string; itemId: string; audio: AudioData }];
  /** No more audio follows for this item. */
  outputAudioDone: [item: { responseId: string; itemId: string }];
  /** Delta of what the item says; runs ahead of the audio. With `final`, the whole text. */
  outputTranscript: [transcript: { responseId: string; itemId: string; text: string; final: boolean }];
  /** A complete function call. `args` is the JSON text as the model wrote it. */
  toolCall: [call: { responseId: string; callId: string; name: string; args: string }];
  toolCallCancelled: [call: { callId: string }];
  responseDone: [
    response: { responseId: string; status: ResponseStatus; usage?: ModelUsage; errorCode?: string },
  ];
  /** The model stopped speaking by its own decision and dropped what was not sent. */
  interrupted: [];
  expiring: [limit: { inMs: number }];
  error: [error: ModelError];
  /** Emitted exactly once; nothing follows it. */
  closed: [reason: { code: number; reason: string }];
}

export interface ResponseRequest {
  /** Ours, unique on the session; comes back in `responseStarted` and in an `error` about this request. */
  readonly requestId: string;
  /** For this response only. */
  readonly instructions?: string;
  /**
   * The words to speak in this response, e.g. the greeting. A generative model is asked to say exactly this and may
   * still paraphrase (what must be word for word goes through `speakVerbatim`); the offline model says it as it is.
   */
  readonly say?: string;
}

export interface RealtimeModel extends Emitter<RealtimeModelEvents> {
  readonly capabilities: ModelCapabilities;
  /**
   * Opens the session and configures it; resolves after `ready`.
   *
   * @throws VoiceError `MODEL_UNAVAILABLE`, `MODEL_AUTH_FAILED`, `MODEL_PROTOCOL`
   */
  connect(session: ModelSessionConfig): Promise<void>;
  updateSession(changes: { instructions?: string; tools?: readonly ToolDefinition[] }): void;
  /** Adds history items without asking for a response. */
  restore(history: readonly HistoryItem[]): void;
  /** The caller's audio in the input format of `ready`; held (bounded) before that. */
  appendAudio(audio: AudioData): void;
  /** Puts text into the conversation without asking for a response. */
  addContext(role: 'user' | 'system', text: string): void;
  /** The one output of a function call. Does not ask for a response. */
  sendToolOutput(callId: string, output: string): void;
  requestResponse(request: ResponseRequest): void;
  /** Cancels the active response; a benign error when there is none. */
  cancelResponse(): void;
  /** Tells the model how much of an item was heard, in whole ms. */
  truncate(itemId: string, heardMs: number): void;
  deleteItem(itemId: string): void;
  /** Ends the session; `closed` follows. Idempotent. */
  close(): void;
}

/** Makes one model session for one call. */
export interface RealtimeModelFactory {
  readonly capabilities: ModelCapabilities;
  /** What it is connected to, in plain words, for the start banner; no secrets. */
  readonly description: string;
  create(): RealtimeModel;
  /** Loads what the first session would else wait for. */
  warmUp?(): void;
  /** Frees what its sessions share (workers, sockets). */
  close(): Promise<void>;
}
