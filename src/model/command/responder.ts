/**
 * One response at a time: speaks an answer, calls its tools, and ends in exactly one `responseDone`.
 *
 * @module
 */

import type { AudioFormat } from '../../audio/index.ts';
import type { Clock } from '../../clock.ts';
import { isVoiceError } from '../../errors.ts';
import type { Synthesiser } from '../../speech/index.ts';
import type { RealtimeModelEvents, ResponseStatus } from '../contract.ts';
import type { Conversation } from './conversation.ts';
import type { Answer } from './dialogue.ts';
import { speak } from './mouth.ts';

export interface ResponderOptions {
  readonly synthesiser: Synthesiser;
  readonly clock: Clock;
  readonly format: AudioFormat;
  readonly conversation: Conversation;
  readonly nextId: (kind: 'resp' | 'item' | 'call') => string;
  readonly emit: <K extends keyof RealtimeModelEvents>(event: K, ...args: RealtimeModelEvents[K]) => void;
  /** A tool call is about to be emitted. */
  readonly onCall: (callId: string, name: string, args: string) => void;
  /** The response is over; another may start. */
  readonly onFree: () => void;
}

interface Response {
  readonly responseId: string;
  readonly requestId: string | undefined;
  readonly abort: AbortController;
  announced: boolean;
}

export class Responder {
  readonly #options: ResponderOptions;
  #active: Response | null = null;

  constructor(options: ResponderOptions) {
    this.#options = options;
  }

  get isActive(): boolean {
    return this.#active !== null;
  }

  /** Starts a response; none may be active. Its events come later, never from inside this call. */
  start(answer: Answer, requestId?: string): void {
    const responseId = this.#options.nextId('resp');
    const response: Response = { responseId, requestId, abort: new AbortController(), announced: false };
    this.#active = response;
    queueMicrotask(() => {
      if (this.#active !== response) return;
      this.#announce(response);
      void this.#run(response, answer);
    });
  }

  /** Ends the active response as cancelled. Whether there was one. */
  cancel(): boolean {
    const response = this.#active;
    if (!response) return false;
    this.#announce(response);
    this.#finish(response, 'cancelled');
    return true;
  }

  /** Drops the active response without a word: the session is over. */
  close(): void {
    this.#active?.abort.abort();
    this.#active = null;
  }

  #announce(response: Response): void {
    if (response.announced) return;
    response.announced = true;
    const { responseId, requestId } = response;
    this.#options.emit(
      'responseStarted',
      requestId === undefined ? { responseId } : { responseId, requestId },
    );
  }

  async #run(response: Response, answer: Answer): Promise<void> {
    try {
      if (answer.say !== '') await this.#speak(response, answer.say);
      for (const { name, args } of answer.calls) {
        if (this.#active !== response) return;
        const callId = this.#options.nextId('call');
        this.#options.onCall(callId, name, args);
        this.#options.emit('toolCall', { responseId: response.responseId, callId, name, args });
      }
      this.#finish(response, 'completed');
    } catch (error) {
      this.#finish(response, 'failed', isVoiceError(error) ? error.code : 'SPEECH_FAILED');
    }
  }

  async #speak(response: Response, text: string): Promise<void> {
    const { synthesiser, clock, format, conversation, emit, nextId } = this.#options;
    const { responseId, abort } = response;
    const itemId = nextId('item');
    let spoken = '';
    for await (const part of speak(text, { synthesiser, clock, format, signal: abort.signal })) {
      if (this.#active !== response) return;
      if (part.type === 'chunk') {
        emit('outputAudio', { responseId, itemId, audio: part.audio });
        continue;
      }
      conversation.speak(itemId, part);
      const delta = spoken === '' ? part.text : ` ${part.text}`;
      spoken += delta;
      emit('outputTranscript', { responseId, itemId, text: delta, final: false });
    }
    if (this.#active !== response || spoken === '') return;
    emit('outputAudioDone', { responseId, itemId });
    emit('outputTranscript', { responseId, itemId, text: spoken, final: true });
  }

  #finish(response: Response, status: ResponseStatus, errorCode?: string): void {
    if (this.#active !== response) return;
    this.#active = null;
    response.abort.abort();
    const { responseId } = response;
    this.#options.emit('responseDone', {
      responseId,
      status,
      ...(errorCode === undefined ? {} : { errorCode }),
    });
    this.#options.onFree();
  }
}
