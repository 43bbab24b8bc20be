/**
 * What the model's session says, and what becomes of it.
 *
 * @module
 */

import type { ModelError, RealtimeModelEvents } from '../model/index.ts';
import type { ModelLinkHandlers } from './model-link.ts';
import { StreamItems } from './stream-items.ts';
import type { ToolCall } from './tools.ts';
import type { Wiring } from './wiring.ts';

/** Asked of a new session when the old one was lost before it had answered. */
const RESUME =
  'The connection was interrupted for a moment. Answer the caller, or go on where you were cut off. Do not greet again.';
/** Ids of one session that are remembered. */
export const MAX_SESSION_IDS = 512;

type Event<K extends keyof RealtimeModelEvents> = RealtimeModelEvents[K][0];

export class ModelSide {
  readonly #wiring: Wiring;
  /** Items of the model's live session; only these can be truncated there. */
  readonly #items = new Set<string>();
  /** Responses of which audio came. */
  readonly #spokeIn = new Set<string>();
  /** Of a full-duplex model: its endless sound, cut into items. */
  #stream: StreamItems | null = null;
  /** The caller said something that nothing has answered yet. */
  #answerDue = false;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
  }

  /** Something was said to the caller, or the caller is to speak first. */
  hasOpened = false;

  hasItem(itemId: string): boolean {
    return this.#items.has(itemId);
  }

  /** The items that were under way have ended; the model can't be told more about them. */
  forgetItems(): void {
    this.#items.clear();
  }

  /** Whether a response has been heard from. */
  spokeIn(responseId: string): boolean {
    const { isFullDuplex, output, now } = this.#wiring;
    return isFullDuplex ? !output.isIdle(now()) : this.#spokeIn.has(responseId);
  }

  /** What the caller's last turn was, it needs no answer. */
  nothingToAnswer(): void {
    this.#answerDue = false;
  }

  tick(now: number): void {
    const ended = this.#stream?.tick(now) ?? null;
    if (ended !== null) this.#wiring.output.end(ended);
  }

  handlers(): ModelLinkHandlers {
    const { interruptions, output, tools, approvals } = this.#wiring;
    return {
      ready: (session, generation) => this.#onReady(session, generation),
      replaced: () => this.#newSession(),
      dropped: () => this.#onDropped(),
      failed: (code) => this.#onFailed(code),
      speechStarted: (at) => this.#onSpeechStarted(at),
      speechStopped: (at) => this.#onSpeechStopped(at),
      inputCommitted: ({ itemId }) => this.#onCommitted(itemId),
      inputTranscript: (transcript) => this.#onInputTranscript(transcript),
      responseStarted: (response) => this.#onResponseStarted(response),
      outputAudio: (audio) => this.#onOutputAudio(audio),
      outputAudioDone: ({ itemId }) => {
        if (!approvals.holdEnd(itemId)) output.end(itemId);
      },
      outputTranscript: (said) => this.#onOutputTranscript(said),
      toolCall: (call) => this.#onToolCall(call),
      toolCallCancelled: ({ callId }) => tools.cancelledByModel(callId),
      responseDone: (response) => this.#onResponseDone(response),
      interrupted: () => interruptions.interrupt('model', { isDecided: true }),
      error: (error) => this.#onError(error),
    };
  }

  // ---- the session

  #onReady(session: Event<'ready'>, generation: number): void {
    const { options, line, output, requests, floor, notes, isFullDuplex } = this.#wiring;
    line.sessionReady(session.inputFormat);
    output.setModelFormat(session.outputFormat);
    this.#stream = isFullDuplex ? new StreamItems(session.outputFormat, generation) : null;
    if (generation === 1) {
      const { greeting } = options.parts.config;
      // Who was greeted before is not greeted again.
      if (options.info.continues) requests.ask({ kind: 'prompt', instructions: RESUME });
      else if (greeting !== '') requests.ask({ kind: 'prompt', say: greeting });
      else {
        this.hasOpened = true;
        floor.unprotect();
      }
      return;
    }
    notes.count('model_sessions_replaced');
    if (this.#answerDue) requests.ask({ kind: 'prompt', instructions: RESUME });
    else requests.tick();
  }

  #onDropped(): void {
    this.#wiring.fault('model_session_dropped');
    this.#newSession();
  }

  /** What belonged to the old session: its items can't be truncated, its calls can't be answered any more. */
  #newSession(): void {
    const { requests, floor, output, tools, interruptions } = this.#wiring;
    this.#answerDue ||= requests.isBusy || floor.callerSpeaks;
    for (const itemId of this.#items) output.end(itemId);
    this.#items.clear();
    requests.reset();
    tools.newSession();
    interruptions.speechStopped(null);
  }

  #onFailed(code: string): void {
    const { fault, wind, options } = this.#wiring;
    fault(code);
    wind('model_failed', options.parts.prompts.modelFailed);
  }

  #onError(error: ModelError): void {
    const { notes, fault, requests } = this.#wiring;
    notes.count(`model_error_${error.severity}`);
    if (error.severity === 'retryable') fault(error.code);
    if (error.requestId !== undefined) {
      requests.refused(error.requestId, error.code === 'conversation_already_has_active_response');
    }
    if (error.severity === 'fatal') this.#onFailed(error.code);
  }

  // ---- the caller, as the model hears them

  #onSpeechStarted(at: Event<'speechStarted'>): void {
    const { notes, line, interruptions, now } = this.#wiring;
    notes.callerSpeaks(line.timeOf(at.audioStartMs, now()));
    line.callerActive();
    interruptions.speechStarted('model');
  }

  #onSpeechStopped(at: Event<'speechStopped'>): void {
    const { notes, line, log, interruptions, now } = this.#wiring;
    interruptions.speechStopped('model');
    notes.callerStops(line.timeOf(at.audioEndMs, now()), log.current + 1);
  }

  #onCommitted(itemId: string): void {
    const { log, memory, now } = this.#wiring;
    log.begin(itemId, now());
    memory.reserve(itemId);
    this.#answerDue = true;
  }

  #onInputTranscript({ itemId, text, final }: Event<'inputTranscript'>): void {
    const { line, log, memory, notes, interruptions, now } = this.#wiring;
    line.show({ type: 'transcript', role: 'user', itemId, text, append: false, final });
    if (text !== '') line.callerActive();
    interruptions.words(itemId, text, final);
    if (!final) return;
    // A model without turns commits none: its transcript is the turn.
    if (!log.knowsItem(itemId)) {
      log.begin(itemId, now());
      memory.reserve(itemId);
    }
    notes.callerSaid(log.turnOfItem(itemId), text);
    log.userText(itemId, text);
    memory.fill(itemId, text);
  }

  // ---- what the model says and does

  #onResponseStarted(response: Event<'responseStarted'>): void {
    const { log, requests, notes, interruptions } = this.#wiring;
    const isAnswer = response.requestId !== undefined || interruptions.modelAnswers();
    log.responseStarted(response.responseId);
    requests.started(response);
    if (!isAnswer) {
      notes.count('answers_to_noise_dropped');
      this.nothingToAnswer();
      requests.interrupt(false);
    }
    requests.release();
  }

  #onOutputAudio(event: Event<'outputAudio'>): void {
    const { responseId, itemId: given, audio } = event;
    const { requests, notes, output, hangup, approvals, now } = this.#wiring;
    requests.sign(responseId);
    if (requests.isCancelled(responseId)) {
      notes.count('late_audio_dropped');
      return;
    }
    if (approvals.hold(event)) return;
    const itemId = this.#stream ? this.#stream.itemOf(audio, now()) : given;
    if (itemId === null) return;
    this.#answerDue = false;
    this.hasOpened = true;
    hangup.goodbyeBegan();
    addBounded(this.#items, itemId);
    addBounded(this.#spokeIn, responseId);
    const item = { itemId, source: 'model', responseId } as const;
    if (!output.pushModel(item, audio, now())) notes.count('output_refused');
  }

  #onOutputTranscript({ responseId, itemId: given, text, final }: Event<'outputTranscript'>): void {
    const { requests, words, line } = this.#wiring;
    requests.sign(responseId);
    if (requests.isCancelled(responseId)) return;
    // Without items there is no last word on one either.
    if (this.#stream) words.add(this.#stream.current, text, false);
    else words.add(given, text, final);
    // Where there are no items the text has no end of its own, and goes behind what there is.
    const itemId = this.#stream ? this.#stream.current : given;
    const append = this.#stream !== null || !final;
    line.show({ type: 'transcript', role: 'assistant', itemId, text, append, final });
  }

  #onToolCall(call: ToolCall): void {
    const { requests, tools, isFullDuplex } = this.#wiring;
    requests.sign(call.responseId);
    this.#answerDue = false;
    // Without responses there are no batches: each call is one of its own.
    if (!isFullDuplex) tools.called(call);
    else {
      tools.called({ ...call, responseId: call.callId });
      tools.responseDone(call.callId, false);
    }
  }

  #onResponseDone({ responseId, status, usage, errorCode }: Event<'responseDone'>): void {
    const { notes, log, output, requests, tools, fault, verbatim, options, floor } = this.#wiring;
    notes.response(log.turnOfResponse(responseId), usage);
    // Without responses it is only an account of what was used.
    if (this.#stream) return;
    for (const itemId of this.#items) output.end(itemId);
    const cancelled = requests.isCancelled(responseId) || status === 'cancelled';
    requests.done(responseId);
    tools.responseDone(responseId, cancelled);
    this.#settleReplies(responseId, status === 'failed' && !cancelled ? 'drop' : 'release');
    if (status === 'failed' && !cancelled) {
      fault(errorCode ?? 'response_failed');
      void verbatim.speak(options.parts.prompts.stalled);
    }
    // A greeting without audio protects nothing.
    if (!this.#spokeIn.has(responseId)) floor.unprotect();
  }

  /** A model without responses has the outputs of its tools: what they queued goes out now. */
  toolsReported(callId: string): void {
    this.#settleReplies(callId, 'release');
  }

  /** What tools of this turn queued goes out once the model has answered, and not at all when it failed. */
  #settleReplies(responseId: string, replies: 'release' | 'drop'): void {
    const { log, options } = this.#wiring;
    if (options.parts.media?.uses(options.id)) log.settleReplies(log.turnOfResponse(responseId), replies);
  }
}

function addBounded(set: Set<string>, id: string): void {
  set.add(id);
  if (set.size <= MAX_SESSION_IDS) return;
  const oldest = set.values().next().value;
  if (oldest !== undefined) set.delete(oldest);
}
