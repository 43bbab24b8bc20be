/**
 * Why and when a call ends. A planned end waits for the goodbye to be heard; a caller who speaks on takes it back;
 * a bound stands behind it. The first reason wins.
 *
 * Pure: time comes in as an argument.
 *
 * @module
 */

import type { CallEndReason } from '../store/index.ts';

/** Longest wait for a goodbye to be heard. */
export const MAX_GOODBYE_MS = 20_000;
/** A goodbye that the model has not begun by then is not coming. */
export const GOODBYE_START_MS = 8000;

type State =
  | { readonly phase: 'live' }
  | {
      readonly phase: 'closing';
      readonly reason: CallEndReason;
      readonly since: number;
      readonly final: boolean;
      spoken: boolean;
    }
  | { readonly phase: 'ended'; readonly reason: CallEndReason };

export class Hangup {
  #state: State = { phase: 'live' };

  get phase(): State['phase'] {
    return this.#state.phase;
  }

  get reason(): CallEndReason | null {
    return this.#state.phase === 'live' ? null : this.#state.reason;
  }

  /**
   * Plans the end: the line drops once a goodbye was heard.
   *
   * @param options.final - nothing the caller says takes it back (limits, failures)
   * @param options.spoken - the goodbye has been said already, or needs none
   */
  plan(reason: CallEndReason, options: { final: boolean; spoken: boolean }, now: number): void {
    if (this.#state.phase === 'ended') return;
    if (this.#state.phase === 'closing' && (this.#state.final || !options.final)) return;
    this.#state = { phase: 'closing', reason, since: now, final: options.final, spoken: options.spoken };
  }

  /** The goodbye has begun. */
  goodbyeBegan(): void {
    if (this.#state.phase === 'closing') this.#state.spoken = true;
  }

  /** The caller speaks on: an end that is not final is off. Returns whether one was. */
  takeBack(): boolean {
    if (this.#state.phase !== 'closing' || this.#state.final) return false;
    this.#state = { phase: 'live' };
    return true;
  }

  /** @returns the reason when the line has to drop now */
  tick(now: number, outputIdle: boolean): CallEndReason | null {
    if (this.#state.phase !== 'closing') return null;
    const { reason, since, spoken } = this.#state;
    const heard = outputIdle && (spoken || now - since >= GOODBYE_START_MS);
    return heard || now - since >= MAX_GOODBYE_MS ? reason : null;
  }

  /** The call is over. Returns false when it was over before. */
  end(reason: CallEndReason): boolean {
    if (this.#state.phase === 'ended') return false;
    // A planned end keeps its reason, whichever side then closes the line.
    this.#state = { phase: 'ended', reason: this.#state.phase === 'closing' ? this.#state.reason : reason };
    return true;
  }
}

/** A caller's silence is asked about once, and then ends the call. It counts from the end of playout. */
/** For so long at a time the silence of a caller who muted themselves is not asked about. */
export const MAX_MUTED_MS = 15 * 60_000;

export class SilenceWatch {
  readonly #timeoutMs: number;
  #since: number | null = null;
  #asked = false;
  #mutedAt: number | null = null;

  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /** The caller was heard. */
  callerActive(): void {
    this.#since = null;
    this.#asked = false;
  }

  /** The caller turned their microphone off, or on again: that is a sign of life, and silence is what they want. */
  muted(isMuted: boolean, now: number): void {
    this.#mutedAt = isMuted ? now : null;
    this.callerActive();
  }

  /** @param standsStill - the agent speaks, the caller speaks, or a tool or an approval is pending */
  tick(now: number, standsStill: boolean): 'ask' | 'end' | null {
    if (standsStill || (this.#mutedAt !== null && now - this.#mutedAt < MAX_MUTED_MS)) {
      this.#since = null;
      return null;
    }
    this.#since ??= now;
    if (now - this.#since < this.#timeoutMs) return null;
    this.#since = null;
    if (this.#asked) return 'end';
    this.#asked = true;
    return 'ask';
  }
}
