/**
 * The caller's side: one leg at a time. Its audio goes to the model, its digits to whoever asked for them; a leg that
 * breaks off may be replaced by another one of the same call.
 *
 * @module
 */

import {
  type AudioData,
  type AudioFormat,
  audioByteLength,
  audioDurationMs,
  bytesPerMs,
  createTranscoder,
  sameFormat,
  silence,
  type Transcoder,
} from '../audio/index.ts';
import { VoiceError } from '../errors.ts';
import type { CallLeg, LegCloseReason, ShowEvent } from '../leg/index.ts';
import { DigitCollector, DigitConsumers } from './dtmf.ts';
import { LocalDetector } from './local-detector.ts';
import type { Wiring } from './wiring.ts';

/** A pause of the caller's audio that a model with an input clock of its own is not left with. */
export const INPUT_GAP_MS = 200;
/** Silence it is given at a time then. */
const INPUT_FILL_MS = 100;
/** What pressing one key, or waiting in between, takes on a line that is away for it. */
const MS_PER_KEY = 1000;

export class CallerLine {
  readonly #wiring: Wiring;
  readonly #digits = new DigitCollector();
  readonly consumers = new DigitConsumers();
  readonly #detector: LocalDetector | null;
  #leg: CallLeg | null = null;
  /** Takes our listeners off the leg, and no others. */
  #release: (() => void)[] = [];
  #input: Transcoder | null = null;
  /** The model's input clock: ms of audio it was given in this session. */
  #inputMs = 0;
  /** Until when it was given audio. */
  #inputAt = 0;
  #attachedAt: number | null = null;
  #lastMediaAt = 0;
  #lostAt: number | null = null;
  /** Longer than usual for a line that is away to press keys. */
  #extraGraceMs = 0;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
    const { parts, info } = wiring.options;
    this.#detector = parts.config.interruption.localDetector
      ? new LocalDetector(info.leg.input, parts.createDetector)
      : null;
  }

  /** The caller was on the line at least once. */
  get wasAttached(): boolean {
    return this.#attachedAt !== null;
  }

  get leg(): CallLeg | null {
    return this.#leg;
  }

  /** The leg broke off and may come back. */
  get isLost(): boolean {
    return this.#lostAt !== null;
  }

  /**
   * The caller is on the line, or is back on another leg; the newest one counts.
   *
   * @throws VoiceError `LEG_PROTOCOL`: not of the kind that the call was admitted for
   */
  attach(leg: CallLeg): void {
    const { options, output, floor, notes, now } = this.#wiring;
    const { info, parts } = options;
    const { input, output: speech, frameBytes } = leg.capabilities;
    const fits = sameFormat(input, info.leg.input) && sameFormat(speech, info.leg.output);
    if (!fits || frameBytes !== info.leg.frameBytes)
      throw new VoiceError('LEG_PROTOCOL', 'The leg is of another kind than the call was admitted for.');
    const at = now();
    if (this.#leg)
      this.#drop()
        ?.hangup()
        .catch(() => notes.count('hangup_failed'));
    if (this.#attachedAt === null) {
      this.#attachedAt = at;
      const { protectGreeting, protectGreetingMaxMs } = parts.config.interruption;
      if (protectGreeting) floor.protect(at + protectGreetingMaxMs);
    } else notes.lineIsBack(at);
    this.#lostAt = null;
    this.#extraGraceMs = 0;
    this.#lastMediaAt = at;
    this.#inputAt = at;
    this.#leg = leg;
    leg.onListenerError = () => this.#wiring.fault('listener_failed');
    this.#release = [
      leg.on('audio', (audio) => this.#onAudio(audio)),
      leg.on('dtmf', (digit) => this.#onDigit(digit)),
      leg.on('text', (text) => this.#onText(text)),
      leg.on('played', (mark) => output.played(mark, now())),
      leg.on('closed', (reason) => this.#onClosed(reason)),
    ];
    output.attach(leg);
    this.#wiring.approvals.attached();
  }

  /** Lets go of the leg; it is the caller's to hang up. */
  close(): CallLeg | null {
    const leg = this.#leg;
    for (const off of this.#release) off();
    this.#release = [];
    this.#leg = null;
    this.#input?.close();
    this.#input = null;
    this.#detector?.close();
    this.consumers.close();
    return leg;
  }

  show(event: ShowEvent): void {
    this.#leg?.show(event);
  }

  /** Presses keys; a leg that breaks off over it comes back. @throws VoiceError what the leg throws, `LEG_CLOSED` */
  async sendDigits(digits: string): Promise<void> {
    const leg = this.#leg;
    if (!leg) throw new VoiceError('LEG_CLOSED', 'The line is away.');
    this.#extraGraceMs = digits.length * MS_PER_KEY;
    try {
      await leg.sendDtmf(digits);
    } catch (error) {
      this.#extraGraceMs = 0;
      throw error;
    }
  }

  /** Loudness of the agent, where the leg can. */
  setGain(level: number): void {
    if (this.#leg?.capabilities.gain) this.#leg.setGain(level);
  }

  /** The caller said, pressed or wrote something. */
  callerActive(): void {
    this.#wiring.silence.callerActive();
    this.#wiring.tools.callerSpoke();
  }

  /** A session of the model is ready: its input clock starts at 0. */
  sessionReady(format: AudioFormat): void {
    this.#input?.close();
    this.#input = createTranscoder(this.#wiring.options.info.leg.input, format);
    this.#inputMs = 0;
    this.#inputAt = this.#wiring.now();
  }

  /** When the model's input position was on the line; now, when the model gives none. */
  timeOf(inputMs: number | undefined, now: number): number {
    return inputMs === undefined ? now : now - Math.max(0, this.#inputMs - inputMs);
  }

  /** Keeps the input clock of a model running that must not stop. */
  tick(now: number): void {
    const { link, options } = this.#wiring;
    if (!link.model?.capabilities.needsContinuousInput || !this.#input) return;
    while (now - this.#inputAt >= INPUT_GAP_MS) {
      const format = options.info.leg.input;
      this.#inputAt += INPUT_FILL_MS;
      this.#toModel(silence(INPUT_FILL_MS * bytesPerMs(format), format));
    }
  }

  deadlines(now: number): void {
    const { options, end } = this.#wiring;
    const { reconnectGraceS, noMediaTimeoutS } = options.parts.config.limits;
    this.#digitEntry(this.#digits.tick(now));
    this.consumers.tick(now);
    if (this.#lostAt !== null) {
      if (now - this.#lostAt >= reconnectGraceS * 1000 + this.#extraGraceMs) end('connection_lost');
    } else if (now - this.#lastMediaAt > noMediaTimeoutS * 1000) end('no_media');
  }

  /** How long the caller has been on the line. */
  durationMs(now: number): number {
    return this.#attachedAt === null ? 0 : now - this.#attachedAt;
  }

  #onAudio(audio: AudioData): void {
    const { floor, notes, recording, options, approvals, now } = this.#wiring;
    const at = now();
    this.#lastMediaAt = at;
    recording?.caller(audio, notes.at(at));
    const isAnswer = approvals.audio(audio);
    if (!isAnswer) this.#detect(audio);
    if (!this.#input) return;
    this.#inputAt = at;
    const format = options.info.leg.input;
    // During a protected opening the model hears silence, so that a cough is not a turn; and while a person is asked
    // to approve, because their answer is not the model's.
    this.#toModel(isAnswer || floor.isProtected(at) ? silence(audioByteLength(audio), format) : audio);
  }

  /** Audio of the caller's that was kept from the model and is its own after all. */
  replay(audio: AudioData): void {
    this.#toModel(audio);
  }

  #toModel(audio: AudioData): void {
    const { model } = this.#wiring.link;
    if (!model || !this.#input) return;
    this.#inputMs += audioDurationMs(audio, this.#wiring.options.info.leg.input);
    model.appendAudio(this.#input.process(audio));
  }

  #detect(audio: AudioData): void {
    const { interruptions } = this.#wiring;
    for (const heard of this.#detector?.hear(audio) ?? []) {
      if (heard === 'speechStopped') interruptions.speechStopped('local');
      else {
        this.#wiring.silence.callerActive();
        interruptions.speechStarted('local');
      }
    }
  }

  #onDigit(digit: string): void {
    const { notes, interruptions, approvals, now } = this.#wiring;
    this.callerActive();
    if (approvals.digit(digit)) return;
    notes.keyPressed(now());
    if (this.consumers.take(digit, now())) return;
    interruptions.digit();
    this.#digitEntry(this.#digits.digit(digit, now()));
  }

  #digitEntry(entry: string | null): void {
    if (entry !== null) this.#wiring.requests.tell('user', `[The caller pressed the keys: ${entry}]`);
  }

  #onText(text: string): void {
    const { log, memory, interruptions, requests, approvals, now } = this.#wiring;
    if (approvals.text(text)) return;
    const itemId = `typed_${log.current + 1}`;
    log.begin(itemId, now());
    log.userText(itemId, text);
    memory.add('user', text);
    this.callerActive();
    interruptions.typed();
    requests.tell('user', text);
  }

  #onClosed(reason: LegCloseReason): void {
    const { end, notes, now } = this.#wiring;
    const mayComeBack = reason === 'connection_lost' && this.#leg?.capabilities.reconnects === true;
    if (!mayComeBack) {
      end(reason === 'local_hangup' ? 'agent_hangup' : reason);
      return;
    }
    this.#drop();
    this.#lostAt = now();
    notes.lineIsLost(now());
  }

  /** The leg is gone, or is to go: what it had not played is kept for the next one. */
  #drop(): CallLeg | null {
    const { output, recording, notes, interruptions, now } = this.#wiring;
    const leg = this.#leg;
    for (const off of this.#release) off();
    this.#release = [];
    this.#leg = null;
    output.detach(now());
    recording?.cut(notes.at(now()));
    // Nobody hears the caller now; a sentence that was cut in two is not an interruption that never ends.
    interruptions.speechStopped(null);
    return leg;
  }
}
