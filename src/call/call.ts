/**
 * One call, from the model session that is opened for it to the record that is left of it. What happens in between
 * is decided in the cores and done by the parts that `Wiring` puts together: `CallerLine` has the leg, `ModelSide`
 * the model's session, `Interruptions` the moment one talks over the other, `Deadlines` the time.
 *
 * @module
 */

import { Emitter } from '../emitter.ts';
import { VoiceError } from '../errors.ts';
import type { CallLeg } from '../leg/index.ts';
import type { SentMedia } from '../media/index.ts';
import type { CallRecord } from '../observe/index.ts';
import type { CallEndReason } from '../store/index.ts';
import { Deadlines } from './deadlines.ts';
import { collectDigits, type DigitRequest } from './digit-request.ts';
import type { DigitConsumer } from './dtmf.ts';
import { MAX_GOODBYE_MS } from './hangup.ts';
import type { CallOptions } from './options.ts';
import type { CallProgress } from './progress.ts';
import { sessionConfig } from './session-config.ts';
import { Wiring } from './wiring.ts';

export interface CallEvents {
  /** Emitted exactly once, when everything of the call is freed and written. */
  ended: [reason: CallEndReason, record: CallRecord];
  progress: [progress: CallProgress];
}

export class Call extends Emitter<CallEvents> {
  readonly #options: CallOptions;
  readonly #wiring: Wiring;
  readonly #deadlines: Deadlines;
  /** A session that was being opened when the tools changed may have been opened with the old ones. */
  #hasOldTools = false;

  constructor(options: CallOptions) {
    super();
    this.#options = options;
    this.#wiring = new Wiring(options, {
      progress: (progress) => this.emit('progress', progress),
      end: (reason) => this.end(reason),
      wind: (reason, words) => this.wind(reason, words),
    });
    this.#deadlines = new Deadlines(this.#wiring);
  }

  get id(): string {
    return this.#options.id;
  }

  get chatId(): string {
    return this.#options.chatId;
  }

  /** A caller is on the line. */
  get isAttached(): boolean {
    return this.#wiring.line.leg !== null;
  }

  get isOver(): boolean {
    return this.#wiring.hangup.phase === 'ended';
  }

  /** Opens the model's session and lets the greeting be made; the caller need not be there yet. */
  async open(): Promise<void> {
    const { parts, info, id, sessionKey } = this.#options;
    const { log, notes, link, now } = this.#wiring;
    log.write(() =>
      parts.store.beginCall({
        id,
        sessionKey,
        carrier: info.carrier,
        provider: parts.models.capabilities.provider,
        identityStrength: info.identity.strength,
        startedAt: notes.startedWall,
      }),
    );
    log.begin(null, now());
    await link.connect();
  }

  /**
   * The caller is on the line, or back on a new leg: the newest one counts, and goes on where the old one was.
   *
   * @throws VoiceError `LEG_PROTOCOL`: the leg is not of the kind that the call was admitted for; `CALL_NOT_FOUND`: the
   *   call is over
   */
  attach(leg: CallLeg): void {
    if (this.#wiring.hangup.phase === 'ended') throw new VoiceError('CALL_NOT_FOUND', 'The call is over.');
    this.#wiring.line.attach(leg);
    this.#deadlines.attached();
    this.#wiring.ticker.add(this.#tick);
  }

  /** The host's tools are others now: the model's session gets them, or the next one that is opened. */
  refreshTools(): void {
    const { model } = this.#wiring.link;
    this.#hasOldTools = model === null;
    model?.updateSession({ tools: sessionConfig(this.#options, []).tools });
  }

  /** The caller turned their microphone off, or on again: nobody asks a muted caller whether they are still there. */
  callerMuted(isMuted: boolean): void {
    this.#wiring.silence.muted(isMuted, this.#wiring.now());
  }

  /** Says a text word for word, behind what is being said. Resolves to whether it could be made. */
  speakVerbatim(text: string): Promise<boolean> {
    this.#wiring.session.hasOpened = true;
    return this.#wiring.verbatim.speak(text);
  }

  /**
   * Says a text once, word for word, at a moment when nobody speaks and nothing is about to be said. Resolves to
   * whether it is on its way to the line; `false` when the signal fires, or the call ends, before it began.
   */
  async speakWhenQuiet(text: string, signal: AbortSignal): Promise<boolean> {
    return (await this.#wiring.still.wait(signal)) && this.speakVerbatim(text);
  }

  /** Puts what was sent to the caller into the record of the call. */
  mediaSent(sent: SentMedia): void {
    this.#wiring.notes.mediaSent(sent, this.#wiring.now());
  }

  /**
   * Has the caller's keys go to a menu before the model gets any.
   *
   * @returns what takes it off again; `null` when `MAX_DIGIT_CONSUMERS` wait already
   */
  consumeDigits(consumer: DigitConsumer): (() => void) | null {
    return this.#wiring.line.consumers.add(consumer);
  }

  /**
   * One entry of keys, such as a PIN, that the model never sees: complete after `#`, a pause, or `maxDigits`.
   *
   * @returns the keys; `null` when none came in time, or the call ended
   */
  collectDigits(request: DigitRequest): Promise<string | null> {
    return collectDigits(this.#wiring.line.consumers, request, this.#wiring.now());
  }

  /** Ends the call after a spoken word to the caller; nothing they say takes it back. */
  wind(reason: CallEndReason, words: string): void {
    const { hangup, line, floor, interruptions, verbatim, now } = this.#wiring;
    if (hangup.phase === 'ended') return;
    if (line.leg === null) {
      this.end(reason);
      return;
    }
    interruptions.interrupt('tool');
    hangup.plan(reason, { final: true, spoken: false }, now());
    // The last word is heard whole: there is no answer to come that it could be cut for.
    floor.protect(now() + MAX_GOODBYE_MS);
    void verbatim.speak(words).then(() => hangup.goodbyeBegan());
  }

  /** Ends the call now. Idempotent; `ended` follows when everything is freed and written. */
  end(reason: CallEndReason): void {
    const { hangup, output, hearing, recording, notes, line, tools } = this.#wiring;
    const { interruptions, approvals, quiet, still, link, verbatim, words, ticker } = this.#wiring;
    if (!hangup.end(reason)) return;
    const now = this.#wiring.now();
    ticker.remove(this.#tick);
    // Nothing more is heard: what was on its way ends as an interruption does.
    for (const each of output.interrupt(now).ended) hearing.ended(each);
    recording?.cut(notes.at(now));
    this.#hangUp(line.close(), reason);
    approvals.closed(reason);
    interruptions.close();
    quiet.close();
    still.close();
    tools.hungUp();
    link.close();
    verbatim.close();
    output.close();
    words.clear();
    void this.#finish(now);
  }

  /** Without a leg the carrier may still have the caller on the line; one who is turned away is told why first. */
  #hangUp(leg: CallLeg | null, reason: CallEndReason): void {
    const { notes } = this.#wiring;
    const isGone = reason === 'refused' || reason === 'model_failed' || reason === 'caller_hangup';
    const hanging = leg ? leg.hangup() : isGone ? undefined : this.#options.info.hangUp?.();
    hanging?.catch(() => {
      notes.count('hangup_failed');
      this.#options.parts.logger.warn({ callId: this.id, reason }, 'the carrier did not take the hang-up');
    });
  }

  readonly #tick = (now: number): void => {
    if (this.#hasOldTools && this.#wiring.link.model !== null) this.refreshTools();
    this.#deadlines.tick(now);
  };

  async #finish(now: number): Promise<void> {
    const { parts, id } = this.#options;
    const { hangup, log, notes, recording } = this.#wiring;
    const reason = hangup.reason ?? 'crashed';
    await log.close();
    log.write(() => parts.store.endCall(id, parts.clock.wallNow(), reason));
    await log.flushed();
    const record = notes.build(reason, now);
    try {
      if (recording) await parts.clock.track(recording.finish(record));
    } catch {
      parts.logger.error({ callId: id }, 'the recording could not be written');
    }
    const { durationMs, counters, usage } = record;
    const { inputTokens, outputTokens, cost } = usage;
    parts.logger.info(
      { callId: id, reason, durationMs: Math.round(durationMs), counters, inputTokens, outputTokens, cost },
      'call ended',
    );
    this.emit('ended', reason, record);
    this.removeAllListeners();
  }
}
