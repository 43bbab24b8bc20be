/**
 * The conductor of one call. It only wires: an event comes in, the cores decide, effects go out. What is decided
 * where: `playback` what was heard, `responses` who may ask the model to speak, `tools` what runs and what it owes,
 * `turns` when speech interrupts, `hangup` how the call ends.
 *
 * @module
 */

import {
  type AudioData,
  audioByteLength,
  audioDurationMs,
  createTranscoder,
  FRAME_MS,
  type FrameTicker,
  frameTicker,
  silence,
  type Transcoder,
} from '../audio/index.ts';
import { Emitter } from '../emitter.ts';
import type { CallLeg } from '../leg/index.ts';
import type { ModelError, RealtimeModel, RealtimeModelEvents } from '../model/index.ts';
import type { CallEndReason } from '../store/index.ts';
import { CallTools } from './call-tools.ts';
import { DigitCollector } from './dtmf.ts';
import { Hangup, SilenceWatch } from './hangup.ts';
import { ConversationMemory } from './memory.ts';
import { ModelLink } from './model-link.ts';
import { CallNotes } from './notes.ts';
import type { CallOptions } from './options.ts';
import { Output } from './output.ts';
import type { ItemHearing } from './playback.ts';
import type { CallProgress } from './progress.ts';
import { Recording } from './recording.ts';
import { type ResponseEffect, ResponseSequencer } from './responses.ts';
import { sessionConfig } from './session-config.ts';
import type { ToolCall } from './tools.ts';
import { SpokenWords } from './transcript.ts';
import { TurnLog } from './turn-log.ts';
import { Floor, type FloorEffect, type InterruptionSource } from './turns.ts';
import { Verbatim } from './verbatim.ts';

/** The coarse deadlines are looked at once in so many ticks of 20 ms. */
const COARSE_TICKS = 100 / FRAME_MS;
/** A request held while the caller had the floor is asked for this long after, if the model did not begin itself. */
const FLOOR_RELEASE_MS = 1500;
/** Loudness of the agent while it is not clear whether the caller means to interrupt. */
const DUCKED_GAIN = 0.3;
/** Asked of a new session when the old one was lost before it had answered. */
const RESUME =
  'The connection was interrupted for a moment. Answer the caller, or go on where you were cut off. Do not greet again.';

export interface CallEvents {
  /** Emitted exactly once, when everything of the call is freed and written. */
  ended: [reason: CallEndReason];
  progress: [progress: CallProgress];
}

export class Call extends Emitter<CallEvents> {
  readonly #options: CallOptions;
  readonly #notes: CallNotes;
  readonly #output: Output;
  readonly #floor: Floor;
  readonly #responses: ResponseSequencer;
  readonly #tools: CallTools;
  readonly #hangup = new Hangup();
  readonly #silence: SilenceWatch;
  readonly #digits = new DigitCollector();
  readonly #words = new SpokenWords();
  readonly #memory: ConversationMemory;
  readonly #log: TurnLog;
  readonly #link: ModelLink;
  readonly #verbatim: Verbatim;
  readonly #recording: Recording | null;
  readonly #ticker: FrameTicker;
  /** Items of the model's live session; only these can be truncated there. */
  readonly #sessionItems = new Set<string>();
  /** Responses of which audio came. */
  readonly #spokeIn = new Set<string>();
  #leg: CallLeg | null = null;
  #input: Transcoder | null = null;
  /** The model's input clock: ms of audio it was given in this session. */
  #inputMs = 0;
  #attachedAt = 0;
  #lastMediaAt = 0;
  #ticks = 0;
  /** The caller said something that nothing has answered yet. */
  #answerDue = false;
  /** Something was said to the caller, or the caller is to speak first. */
  #opened = false;

  constructor(options: CallOptions) {
    super();
    this.#options = options;
    const { parts, info } = options;
    const { config, clock } = parts;
    this.#notes = new CallNotes(options, (progress) => this.emit('progress', progress));
    this.#ticker = frameTicker(clock);
    this.#recording =
      parts.recordingDirectory === null
        ? null
        : new Recording(parts.recordingDirectory, options.id, info.leg);
    this.#output = new Output(info.leg, {
      itemStarted: (itemId, playsAt) => this.#notes.agentStarts(itemId, playsAt, this.#log.current),
      itemHeard: (hearing) => this.#onHeard(hearing),
      frame: (frame, playsAt) => this.#recording?.agent(frame, this.#notes.at(playsAt)),
    });
    this.#floor = new Floor(config.interruption);
    this.#responses = new ResponseSequencer({ stallMs: config.limits.responseStallS * 1000 });
    this.#silence = new SilenceWatch(config.limits.silenceTimeoutS * 1000);
    this.#memory = new ConversationMemory(options.history);
    const { synthesiser } = parts;
    this.#verbatim = new Verbatim({ synthesiser, output: this.#output, format: info.leg.output, clock });
    this.#log = new TurnLog({
      store: parts.store,
      clock,
      callId: options.id,
      sessionKey: options.sessionKey,
      onError: () => this.#fault('store_write_failed'),
      onFinal: () => parts.onTurnFinal?.(options.sessionKey),
    });
    this.#tools = this.#createTools();
    this.#link = this.#createLink();
  }

  get id(): string {
    return this.#options.id;
  }

  get chatId(): string {
    return this.#options.chatId;
  }

  get isAttached(): boolean {
    return this.#leg !== null;
  }

  /** Opens the model's session and lets the greeting be made; the caller need not be there yet. */
  async open(): Promise<void> {
    const { parts, info, id, sessionKey } = this.#options;
    this.#log.write(() =>
      parts.store.beginCall({
        id,
        sessionKey,
        carrier: info.carrier,
        provider: parts.models.capabilities.provider,
        identityStrength: info.identity.strength,
        startedAt: this.#notes.startedWall,
      }),
    );
    this.#log.begin(null, this.#now());
    await this.#link.connect();
  }

  /** The caller is on the line. */
  attach(leg: CallLeg): void {
    const now = this.#now();
    this.#leg = leg;
    this.#attachedAt = now;
    this.#lastMediaAt = now;
    leg.onListenerError = () => this.#fault('listener_failed');
    leg.on('audio', (audio) => this.#onCallerAudio(audio));
    leg.on('dtmf', (digit) => this.#onDigit(digit));
    leg.on('text', (text) => this.#onText(text));
    leg.on('played', (mark) => this.#output.played(mark, this.#now()));
    leg.on('closed', (reason) => this.end(reason === 'local_hangup' ? 'agent_hangup' : reason));
    this.#output.attach(leg);
    const { protectGreeting, protectGreetingMaxMs } = this.#options.parts.config.interruption;
    if (protectGreeting) this.#floor.protect(now + protectGreetingMaxMs);
    this.#ticker.add(this.#tick);
  }

  /** Says a text word for word, behind what is being said. Resolves to whether it could be made. */
  speakVerbatim(text: string): Promise<boolean> {
    this.#opened = true;
    return this.#verbatim.speak(text);
  }

  /** Ends the call after a spoken word to the caller; nothing they say takes it back. */
  wind(reason: CallEndReason, words: string): void {
    if (this.#hangup.phase === 'ended') return;
    if (this.#leg === null) {
      this.end(reason);
      return;
    }
    this.#interrupt('tool');
    this.#hangup.plan(reason, { final: true, spoken: false }, this.#now());
    void this.#verbatim.speak(words).then(() => this.#hangup.goodbyeBegan());
  }

  /** Ends the call now. Idempotent; `ended` follows when everything is freed and written. */
  end(reason: CallEndReason): void {
    if (!this.#hangup.end(reason)) return;
    const now = this.#now();
    this.#ticker.remove(this.#tick);
    // Nothing more is heard: what was on its way ends as an interruption does.
    for (const hearing of this.#output.interrupt(now)) this.#onHeard(hearing);
    this.#recording?.cut(this.#notes.at(now));
    const leg = this.#leg;
    this.#leg = null;
    leg?.removeAllListeners();
    leg?.hangup().catch(() => this.#notes.count('hangup_failed'));
    this.#tools.hungUp();
    this.#link.close();
    this.#verbatim.close();
    this.#output.close();
    this.#input?.close();
    this.#input = null;
    this.#words.clear();
    void this.#finish(now);
  }

  // ---- the caller

  #onCallerAudio(audio: AudioData): void {
    const now = this.#now();
    this.#lastMediaAt = now;
    const format = this.#options.info.leg.input;
    this.#recording?.caller(audio, this.#notes.at(now));
    const model = this.#link.model;
    if (!model || !this.#input) return;
    // During a protected opening the model hears silence, so that a cough is not a turn.
    const heard = this.#floor.isProtected(now) ? silence(audioByteLength(audio), format) : audio;
    this.#inputMs += audioDurationMs(audio, format);
    model.appendAudio(this.#input.process(heard));
  }

  #onDigit(digit: string): void {
    const now = this.#now();
    this.#silence.callerActive();
    this.#notes.keyPressed(now);
    this.#applyFloor(this.#floor.digit(this.#agentHasFloor(now), now));
    this.#digitEntry(this.#digits.digit(digit, now));
  }

  #onText(text: string): void {
    const now = this.#now();
    const itemId = `typed_${this.#log.current + 1}`;
    this.#log.begin(itemId, now);
    this.#log.userText(itemId, text);
    this.#memory.add('user', text);
    this.#silence.callerActive();
    this.#tools.callerSpoke();
    if (this.#agentHasFloor(now)) this.#interrupt('digit');
    this.#tellModel('user', text);
  }

  #digitEntry(entry: string | null): void {
    if (entry !== null) this.#tellModel('user', `[The caller pressed the keys: ${entry}]`);
  }

  /** Puts text into the conversation and has the model speak about it. */
  #tellModel(role: 'user' | 'system', text: string): void {
    this.#link.model?.addContext(role, text);
    this.#applyResponses(this.#responses.request({ kind: 'continuation' }, this.#now()));
  }

  // ---- the model

  #onReady(session: RealtimeModelEvents['ready'][0], generation: number): void {
    const now = this.#now();
    this.#input?.close();
    this.#input = createTranscoder(this.#options.info.leg.input, session.inputFormat);
    this.#inputMs = 0;
    this.#output.setModelFormat(session.outputFormat);
    if (generation === 1) {
      const { greeting } = this.#options.parts.config;
      if (greeting !== '')
        this.#applyResponses(this.#responses.request({ kind: 'prompt', say: greeting }, now));
      else {
        this.#opened = true;
        this.#floor.unprotect();
      }
      return;
    }
    this.#notes.count('model_sessions_replaced');
    if (this.#answerDue)
      this.#applyResponses(this.#responses.request({ kind: 'prompt', instructions: RESUME }, now));
    else this.#applyResponses(this.#responses.tick(now));
  }

  #onDropped(): void {
    this.#fault('model_session_dropped');
    this.#newSession();
  }

  /** What belonged to the old session: its items can't be truncated, its calls can't be answered any more. */
  #newSession(): void {
    const now = this.#now();
    this.#answerDue ||= this.#responses.isBusy || this.#floor.callerSpeaks;
    for (const itemId of this.#sessionItems) this.#output.end(itemId);
    this.#sessionItems.clear();
    this.#responses.reset();
    this.#tools.newSession();
    this.#applyFloor(this.#floor.speechStopped(now));
  }

  #onModelFailed(code: string): void {
    this.#fault(code);
    this.wind('model_failed', this.#options.parts.prompts.modelFailed);
  }

  #onModelError(error: ModelError): void {
    this.#notes.count(`model_error_${error.severity}`);
    if (error.severity === 'retryable') this.#fault(error.code);
    if (error.requestId !== undefined) {
      const collision = error.code === 'conversation_already_has_active_response';
      this.#applyResponses(this.#responses.refused(error.requestId, collision, this.#now()));
    }
    if (error.severity === 'fatal') this.#onModelFailed(error.code);
  }

  #onSpeechStarted(at: RealtimeModelEvents['speechStarted'][0]): void {
    const now = this.#now();
    this.#notes.callerSpeaks(this.#lineTime(at.audioStartMs, now));
    this.#silence.callerActive();
    this.#tools.callerSpoke();
    this.#applyFloor(this.#floor.speechStarted('model', this.#agentHasFloor(now), now));
    this.#responses.hold();
  }

  #onSpeechStopped(at: RealtimeModelEvents['speechStopped'][0]): void {
    const now = this.#now();
    this.#applyFloor(this.#floor.speechStopped(now));
    this.#notes.callerStops(this.#lineTime(at.audioEndMs, now), this.#log.current + 1);
  }

  #onCommitted(itemId: string): void {
    this.#log.begin(itemId, this.#now());
    this.#memory.reserve(itemId);
    this.#answerDue = true;
  }

  #onInputTranscript({ itemId, text, final }: RealtimeModelEvents['inputTranscript'][0]): void {
    this.#leg?.show({ type: 'transcript', role: 'user', text, final });
    if (!final) return;
    this.#notes.callerSaid(this.#log.turnOfItem(itemId), text);
    this.#log.userText(itemId, text);
    this.#memory.fill(itemId, text);
  }

  #onResponseStarted(response: RealtimeModelEvents['responseStarted'][0]): void {
    const now = this.#now();
    this.#log.responseStarted(response.responseId);
    this.#applyResponses(this.#responses.started(response, now));
    this.#applyResponses(this.#responses.release(now));
  }

  #onOutputAudio({ responseId, itemId, audio }: RealtimeModelEvents['outputAudio'][0]): void {
    const now = this.#now();
    this.#responses.sign(responseId, now);
    if (this.#responses.isCancelled(responseId)) {
      this.#notes.count('late_audio_dropped');
      return;
    }
    this.#answerDue = false;
    this.#opened = true;
    this.#hangup.goodbyeBegan();
    addBounded(this.#sessionItems, itemId);
    addBounded(this.#spokeIn, responseId);
    const item = { itemId, source: 'model', responseId } as const;
    if (!this.#output.pushModel(item, audio, now)) this.#notes.count('output_refused');
  }

  #onOutputTranscript({ responseId, itemId, text, final }: RealtimeModelEvents['outputTranscript'][0]): void {
    this.#responses.sign(responseId, this.#now());
    if (this.#responses.isCancelled(responseId)) return;
    this.#words.add(itemId, text, final);
    this.#leg?.show({ type: 'transcript', role: 'assistant', text, final });
  }

  #onToolCall(call: ToolCall): void {
    this.#responses.sign(call.responseId, this.#now());
    this.#answerDue = false;
    this.#tools.called(call);
  }

  #onResponseDone({ responseId, status, usage, errorCode }: RealtimeModelEvents['responseDone'][0]): void {
    const now = this.#now();
    this.#notes.response(usage);
    for (const itemId of this.#sessionItems) this.#output.end(itemId);
    const cancelled = this.#responses.isCancelled(responseId) || status === 'cancelled';
    this.#applyResponses(this.#responses.done(responseId, now));
    this.#tools.responseDone(responseId, cancelled);
    if (status === 'failed' && !cancelled) {
      this.#fault(errorCode ?? 'response_failed');
      void this.#verbatim.speak(this.#options.parts.prompts.stalled);
    }
    // A greeting without audio protects nothing.
    if (!this.#spokeIn.has(responseId)) this.#floor.unprotect();
  }

  // ---- what was heard

  #onHeard(hearing: ItemHearing): void {
    const isModel = hearing.source === 'model';
    const text = isModel ? this.#words.take(hearing) : this.#verbatim.words(hearing);
    const turn = isModel ? this.#log.turnOfResponse(hearing.responseId) : this.#log.current;
    this.#floor.unprotect();
    this.#log.assistantText(turn, text);
    this.#memory.add('assistant', text);
    this.#notes.agentEnded(hearing, text, turn, this.#now());
  }

  #agentHasFloor(now: number): boolean {
    return this.#responses.isBusy || !this.#output.isIdle(now);
  }

  /** Stop sending, clear the leg, cancel, truncate: in this order, and only here. */
  #interrupt(source: InterruptionSource): void {
    const now = this.#now();
    const wasBusy = this.#responses.isBusy;
    const model = this.#link.model;
    const ended = this.#output.interrupt(now);
    this.#recording?.cut(this.#notes.at(now));
    const modelCancels = source === 'model' && (model?.capabilities.interruptsItself ?? false);
    this.#applyResponses(this.#responses.interrupt(modelCancels));
    const cut = ended.filter((hearing) => !hearing.whole);
    for (const hearing of cut) if (hearing.source === 'model') this.#takeBack(hearing, model);
    this.#sessionItems.clear();
    if (cut[0]) this.#notes.interrupted(cut[0], source, now);
    for (const hearing of ended) this.#onHeard(hearing);
    // A filler that is talked over does not touch the tool behind it.
    if (wasBusy || cut.some((hearing) => hearing.source === 'model')) this.#tools.interrupted();
    this.#hangup.takeBack();
  }

  /** Tells the model what of an item was not heard. */
  #takeBack(hearing: ItemHearing, model: RealtimeModel | null): void {
    this.#responses.discard(hearing.responseId);
    if (!model?.capabilities.canTruncate || !this.#sessionItems.has(hearing.itemId)) return;
    if (hearing.heardMs > 0) model.truncate(hearing.itemId, hearing.heardMs);
    else model.deleteItem(hearing.itemId);
  }

  // ---- effects

  #applyFloor(effects: FloorEffect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case 'interrupt':
          this.#interrupt(effect.source);
          break;
        case 'duck':
          if (this.#leg?.capabilities.gain) this.#leg.setGain(DUCKED_GAIN);
          break;
        case 'unduck':
          if (this.#leg?.capabilities.gain) this.#leg.setGain(1);
          break;
        default:
          effect satisfies never;
      }
    }
  }

  #applyResponses(effects: ResponseEffect[]): void {
    const model = this.#link.model;
    for (const effect of effects) {
      switch (effect.type) {
        case 'request': {
          const { kind: _, ...wish } = effect.wish;
          model?.requestResponse({ requestId: effect.requestId, ...wish });
          break;
        }
        case 'cancel':
          if (model?.capabilities.canCancel) model.cancelResponse();
          break;
        case 'stalled':
          this.#fault('response_stalled');
          void this.#verbatim.speak(this.#options.parts.prompts.stalled);
          break;
        case 'dropped':
          this.#notes.count('responses_dropped');
          break;
        default:
          effect satisfies never;
      }
    }
  }

  #createTools(): CallTools {
    const { parts, sessionKey, chatId } = this.#options;
    return new CallTools({
      gateway: parts.gateway,
      sessionKey,
      chatId,
      channel: parts.channel,
      policy: parts.toolPolicy,
      outputChars: parts.config.limits.toolOutputChars,
      fillerAfterMs: parts.config.limits.fillerAfterMs,
      notes: this.#notes,
      log: this.#log,
      hangup: this.#hangup,
      now: () => this.#now(),
      spokeIn: (responseId) => this.#spokeIn.has(responseId),
      effects: {
        sendOutput: (callId, output) => this.#link.model?.sendToolOutput(callId, output),
        addResult: (name, output) =>
          this.#tellModel('system', `Result of the earlier call of ${name}: ${output}`),
        continueAfterTools: (interrupted) => {
          // While the caller speaks, or after they cut the batch short, their own turn brings the response.
          const kind = interrupted || this.#floor.callerSpeaks ? 'refresh' : 'continuation';
          this.#applyResponses(this.#responses.request({ kind }, this.#now()));
        },
        show: (callId, name, phase, isError) =>
          this.#leg?.show({ type: 'tool', callId, name, phase, isError }),
      },
    });
  }

  #createLink(): ModelLink {
    return new ModelLink({
      factory: this.#options.parts.models,
      clock: this.#options.parts.clock,
      session: () => sessionConfig(this.#options, this.#memory.history()),
      handlers: {
        ready: (session, generation) => this.#onReady(session, generation),
        replaced: () => this.#newSession(),
        dropped: () => this.#onDropped(),
        failed: (code) => this.#onModelFailed(code),
        speechStarted: (at) => this.#onSpeechStarted(at),
        speechStopped: (at) => this.#onSpeechStopped(at),
        inputCommitted: ({ itemId }) => this.#onCommitted(itemId),
        inputTranscript: (transcript) => this.#onInputTranscript(transcript),
        responseStarted: (response) => this.#onResponseStarted(response),
        outputAudio: (audio) => this.#onOutputAudio(audio),
        outputAudioDone: ({ itemId }) => this.#output.end(itemId),
        outputTranscript: (said) => this.#onOutputTranscript(said),
        toolCall: (call) => this.#onToolCall(call),
        toolCallCancelled: ({ callId }) => this.#tools.cancelledByModel(callId),
        responseDone: (response) => this.#onResponseDone(response),
        interrupted: () => this.#interrupt('model'),
        error: (error) => this.#onModelError(error),
      },
    });
  }

  // ---- time

  readonly #tick = (now: number): void => {
    this.#output.tick(now);
    if (this.#ticks++ % COARSE_TICKS === 0 && this.#hangup.phase !== 'ended') this.#deadlines(now);
  };

  #deadlines(now: number): void {
    this.#applyFloor(this.#floor.tick(this.#agentHasFloor(now), now));
    const sinceSpeech = now - this.#floor.lastSpeechEndedAt;
    if (!this.#floor.callerSpeaks && sinceSpeech > FLOOR_RELEASE_MS)
      this.#applyResponses(this.#responses.release(now));
    this.#applyResponses(this.#responses.tick(now));
    this.#tools.tick(now);
    this.#digitEntry(this.#digits.tick(now));
    this.#log.tick(now);
    const silent = this.#output.isIdle(now) && !this.#verbatim.isBusy;
    const free = silent && !this.#responses.isBusy && !this.#floor.callerSpeaks;
    this.#link.tick(now, free && this.#tools.runningCount === 0);
    const reason = this.#hangup.tick(now, silent && !this.#responses.isBusy);
    if (reason !== null) this.end(reason);
    else if (this.#hangup.phase === 'live') this.#keepAlive(now, free);
  }

  /** What the caller must not be left with: dead air, an endless line, a line nobody is on. */
  #keepAlive(now: number, free: boolean): void {
    const { config, prompts } = this.#options.parts;
    const filler = this.#tools.filler(now, free);
    const words = filler === null ? undefined : prompts.filler[Math.min(filler, prompts.filler.length - 1)];
    if (words !== undefined) void this.#verbatim.speak(words);
    if (now - this.#lastMediaAt > config.limits.noMediaTimeoutS * 1000) this.end('no_media');
    else if (now - this.#attachedAt > config.limits.maxCallS * 1000)
      this.wind('max_duration', prompts.maxDuration);
    else {
      const standsStill = !free || this.#tools.runningCount > 0 || !this.#opened;
      const silence = this.#silence.tick(now, standsStill);
      if (silence === 'ask') void this.#verbatim.speak(prompts.silenceAsk);
      else if (silence === 'end') this.wind('silence', prompts.silenceEnd);
    }
  }

  // ---- the end

  async #finish(now: number): Promise<void> {
    const { parts, id } = this.#options;
    const reason = this.#hangup.reason ?? 'crashed';
    await this.#log.close();
    this.#log.write(() => parts.store.endCall(id, parts.clock.wallNow(), reason));
    await this.#log.flushed();
    const record = this.#notes.build(reason, now);
    try {
      if (this.#recording) await parts.clock.track(this.#recording.finish(record));
    } catch {
      parts.logger.error({ callId: id }, 'the recording could not be written');
    }
    const { durationMs, counters } = record;
    parts.logger.info({ callId: id, reason, durationMs: Math.round(durationMs), counters }, 'call ended');
    this.emit('ended', reason);
    this.removeAllListeners();
  }

  #fault(code: string): void {
    this.#notes.fault(code, this.#now());
  }

  /** When the model's input position was on the line; now, when the model gives none. */
  #lineTime(inputMs: number | undefined, now: number): number {
    return inputMs === undefined ? now : now - Math.max(0, this.#inputMs - inputMs);
  }

  #now(): number {
    return this.#options.parts.clock.now();
  }
}

/** Ids of one session that are remembered. */
export const MAX_SESSION_IDS = 512;

function addBounded(set: Set<string>, id: string): void {
  set.add(id);
  if (set.size <= MAX_SESSION_IDS) return;
  const oldest = set.values().next().value;
  if (oldest !== undefined) set.delete(oldest);
}
