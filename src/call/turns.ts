/**
 * Who has the floor, and when speech over the agent counts as an interruption. Whichever detector fires first (the
 * model's, a local one, a digit) there is one decision, made here.
 *
 * Pure: time comes in as an argument.
 *
 * @module
 */

export type InterruptionSource = 'model' | 'local' | 'digit' | 'tool';

export interface InterruptionPolicy {
  readonly policy: 'immediate' | 'after-speech';
  /** With `after-speech`: how long the caller must speak before it counts, in ms. */
  readonly minSpeechMs: number;
}

export type FloorEffect =
  | { readonly type: 'interrupt'; readonly source: InterruptionSource }
  /** Speech over the agent began, and whether it counts is not known yet: turn the agent down where that works. */
  | { readonly type: 'duck' }
  /** It was a cough: the agent goes on. */
  | { readonly type: 'unduck' };

export class Floor {
  readonly #policy: InterruptionPolicy;
  #speakingSince: number | null = null;
  #source: InterruptionSource = 'model';
  #pendingSince: number | null = null;
  #protectedUntil = 0;
  #lastSpeechEndedAt = 0;

  constructor(policy: InterruptionPolicy) {
    this.#policy = policy;
  }

  get callerSpeaks(): boolean {
    return this.#speakingSince !== null;
  }

  /** When the caller last stopped speaking; 0 when they never spoke. */
  get lastSpeechEndedAt(): number {
    return this.#lastSpeechEndedAt;
  }

  /** The opening can't be interrupted until it was heard or `untilMs` is reached. */
  protect(untilMs: number): void {
    this.#protectedUntil = untilMs;
  }

  unprotect(): void {
    this.#protectedUntil = 0;
  }

  isProtected(now: number): boolean {
    return now < this.#protectedUntil;
  }

  /** @param agentHasFloor - something of the agent's is being heard, or is on its way */
  speechStarted(source: InterruptionSource, agentHasFloor: boolean, now: number): FloorEffect[] {
    this.#speakingSince ??= now;
    this.#source = source;
    if (!agentHasFloor || this.isProtected(now)) return [];
    if (this.#policy.policy === 'immediate' || source === 'digit') return [{ type: 'interrupt', source }];
    if (this.#pendingSince !== null) return [];
    this.#pendingSince = now;
    return [{ type: 'duck' }];
  }

  speechStopped(now: number): FloorEffect[] {
    if (this.#speakingSince !== null) this.#lastSpeechEndedAt = now;
    this.#speakingSince = null;
    if (this.#pendingSince === null) return [];
    this.#pendingSince = null;
    return [{ type: 'unduck' }];
  }

  /** A digit interrupts but takes no floor. */
  digit(agentHasFloor: boolean, now: number): FloorEffect[] {
    if (!agentHasFloor || this.isProtected(now)) return [];
    this.#pendingSince = null;
    return [{ type: 'interrupt', source: 'digit' }];
  }

  tick(agentHasFloor: boolean, now: number): FloorEffect[] {
    if (this.#pendingSince === null) return [];
    if (!agentHasFloor) {
      this.#pendingSince = null;
      return [{ type: 'unduck' }];
    }
    if (now - this.#pendingSince < this.#policy.minSpeechMs) return [];
    this.#pendingSince = null;
    return [{ type: 'interrupt', source: this.#source }];
  }
}
