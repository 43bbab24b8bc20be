/**
 * What the call lends to the conductor of approvals: while a prompt has the floor, the model's audio is held, the caller's
 * is kept from it, and only our own voice is heard.
 *
 * @module
 */

import type { ApprovalFloor, FloorLine } from '../approval/index.ts';
import { type AudioData, audioByteLength } from '../audio/index.ts';
import type { ClockTimer } from '../clock.ts';
import type { RealtimeModelEvents } from '../model/index.ts';
import type { CallEndReason } from '../store/index.ts';
import type { ItemHearing } from './playback.ts';
import type { Wiring } from './wiring.ts';

/** Of the model's audio, so much is held while a prompt has the floor; what is over is dropped. */
export const MAX_HELD_BYTES = 4_000_000;
/** A prompt that was not heard by then never will be. */
const SAY_BASE_MS = 15_000;
const SAY_PER_CHAR_MS = 150;

type OutputAudio = RealtimeModelEvents['outputAudio'][0];

interface Saying {
  /** It is on its way to the line. */
  queued: boolean;
  readonly timer: ClockTimer;
  readonly resolve: (heard: boolean) => void;
}

export class CallApprovalFloor implements ApprovalFloor {
  readonly #wiring: Wiring;
  #line: FloorLine | null = null;
  #isHeld = false;
  #held: OutputAudio[] = [];
  #heldBytes = 0;
  /** Items of which all audio came while they were held. */
  readonly #heldEnds = new Set<string>();
  #saying: Saying | null = null;
  #lastAudibleAt = Number.NEGATIVE_INFINITY;
  #isClosed = false;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
  }

  // ---- what the call tells

  /** Something is asked, or waits to be: nobody is hung up on for saying nothing. */
  get isAsking(): boolean {
    return this.#line?.isAsking ?? false;
  }

  /** The caller is on the line, or back on it. */
  attached(): void {
    if (this.#line) this.#line.reconnected();
    else this.#line = this.#wiring.options.parts.approvals?.attach(this) ?? null;
  }

  /** Whether the caller's audio is kept from the model. */
  audio(audio: AudioData): boolean {
    return this.#line?.audio(audio) ?? false;
  }

  digit(digit: string): boolean {
    return this.#line?.digit(digit) ?? false;
  }

  text(text: string): boolean {
    return this.#line?.text(text) ?? false;
  }

  /** Whether this audio of the model's is held. */
  hold(event: OutputAudio): boolean {
    if (!this.#isHeld) return false;
    this.#heldBytes += audioByteLength(event.audio);
    if (this.#heldBytes <= MAX_HELD_BYTES) this.#held.push(event);
    else this.#wiring.notes.count('held_audio_dropped');
    return true;
  }

  /** Whether the end of this item waits with its audio. */
  holdEnd(itemId: string): boolean {
    if (!this.#isHeld) return false;
    this.#heldEnds.add(itemId);
    return true;
  }

  /** An item is over; one of ours that was cut off was not heard. */
  ended({ source, whole }: ItemHearing): void {
    if (source === 'verbatim' && !whole) this.#said(false);
  }

  tick(now: number): void {
    const { output, verbatim } = this.#wiring;
    if (!this.#line) return;
    const idle = output.isIdle(now);
    if (!idle) this.#lastAudibleAt = now;
    else if (this.#saying?.queued && !verbatim.isBusy) this.#said(true);
    this.#line.tick(now);
  }

  closed(reason: CallEndReason): void {
    this.#isClosed = true;
    this.#said(false);
    this.#held = [];
    this.#isHeld = false;
    this.#line?.hungUp(reason === 'connection_lost' || reason === 'no_media' || reason === 'backpressure');
    this.#line = null;
  }

  // ---- what the conductor asks

  get callId(): string {
    return this.#wiring.options.id;
  }

  get sessionKey(): string {
    return this.#wiring.options.sessionKey;
  }

  get caller() {
    return this.#wiring.options.info.identity;
  }

  get keys(): boolean {
    return this.#wiring.options.info.leg.dtmfIn;
  }

  get screen(): boolean {
    return this.#wiring.options.info.leg.screen && this.caller.strength === 'authenticated';
  }

  get format() {
    return this.#wiring.options.info.leg.input;
  }

  isQuiet(): boolean {
    const { output, verbatim, requests, floor, interruptions, line, session, now } = this.#wiring;
    const silent = output.isIdle(now()) && !verbatim.isBusy && !requests.isBusy;
    return silent && session.hasOpened && !floor.callerSpeaks && !interruptions.isOpen && !line.isLost;
  }

  take(): void {
    const { interruptions } = this.#wiring;
    if (interruptions.agentHasFloor) interruptions.interrupt('tool', { isDecided: true });
    this.#isHeld = true;
  }

  release(kept: readonly AudioData[]): void {
    const { line, session, output, requests } = this.#wiring;
    if (this.#isClosed || !this.#isHeld) return;
    this.#isHeld = false;
    for (const audio of kept) line.replay(audio);
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    const { outputAudio } = session.handlers();
    for (const event of held) outputAudio(event);
    for (const { itemId, responseId } of held) {
      if (this.#heldEnds.has(itemId) || responseId !== requests.activeResponseId) output.end(itemId);
    }
    this.#heldEnds.clear();
  }

  say(text: string): Promise<boolean> {
    const { verbatim, options } = this.#wiring;
    const { clock } = options.parts;
    if (this.#isClosed) return Promise.resolve(false);
    this.#said(false);
    return new Promise((resolve) => {
      const limitMs = SAY_BASE_MS + text.length * SAY_PER_CHAR_MS;
      const saying: Saying = {
        queued: false,
        timer: clock.setTimeout(() => this.#said(false), limitMs),
        resolve,
      };
      this.#saying = saying;
      void verbatim.speak(text).then((queued) => {
        if (this.#saying !== saying) return;
        saying.queued = queued;
        if (!queued) this.#said(false);
      });
    });
  }

  hush(): void {
    const { output, hearing, recording, notes, now } = this.#wiring;
    if (!this.#saying || this.#isClosed) return;
    for (const each of output.interrupt(now()).ended) hearing.ended(each);
    recording?.cut(notes.at(now()));
    this.#said(false);
  }

  lastAudibleAt(): number {
    const { output, now } = this.#wiring;
    return output.isIdle(now()) ? this.#lastAudibleAt : now();
  }

  tell(text: string): void {
    if (!this.#isClosed) this.#wiring.requests.tell('system', text);
  }

  #said(heard: boolean): void {
    const saying = this.#saying;
    this.#saying = null;
    saying?.timer.clear();
    saying?.resolve(heard);
  }
}
