/**
 * Who has the floor, and when speech over the agent counts as an interruption. Whichever detector fires first (the
 * model's, a local one, a digit) there is one decision, made here.
 *
 * Pure: time comes in as an argument.
 *
 * @module
 */

export type InterruptionSource = 'model' | 'local' | 'digit' | 'tool';
/** Who hears that the caller speaks. */
export type Detector = Extract<InterruptionSource, 'model' | 'local'>;

export interface InterruptionPolicy {
  readonly policy: 'immediate' | 'after-speech' | 'duck-then-confirm';
  /** With `after-speech`: how long the caller must speak before it counts, in ms. */
  readonly minSpeechMs: number;
  /** With `duck-then-confirm`: speech this long counts without a word understood, in ms. */
  readonly confirmMs: number;
}

export type FloorEffect =
  | { readonly type: 'interrupt'; readonly source: InterruptionSource }
  /** Speech over the agent began, and whether it counts is not known yet: turn the agent down where that works. */
  | { readonly type: 'duck' }
  /** It was a cough: the agent goes on. */
  | { readonly type: 'unduck' };

export class Floor {
  readonly #policy: InterruptionPolicy;
  readonly #speaking = new Set<Detector>();
  #source: Detector = 'model';
  #pendingSince: number | null = null;
  #unconfirmed = false;
  #protectedUntil = 0;
  #lastSpeechEndedAt = 0;

  constructor(policy: InterruptionPolicy) {
    this.#policy = policy;
  }

  get callerSpeaks(): boolean {
    return this.#speaking.size > 0;
  }

  /** When the caller last stopped speaking; 0 when they never spoke. */
  get lastSpeechEndedAt(): number {
    return this.#lastSpeechEndedAt;
  }

  /** The caller's last sound over the agent was too short to count. */
  get isUnconfirmed(): boolean {
    return this.#unconfirmed;
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
  speechStarted(source: Detector, agentHasFloor: boolean, now: number): FloorEffect[] {
    if (!this.callerSpeaks) this.#source = source;
    this.#speaking.add(source);
    this.#unconfirmed = false;
    if (!agentHasFloor || this.isProtected(now)) return [];
    if (this.#policy.policy === 'immediate') return [{ type: 'interrupt', source }];
    if (this.#pendingSince !== null) return [];
    this.#pendingSince = now;
    return this.#policy.policy === 'duck-then-confirm' ? [{ type: 'duck' }] : [];
  }

  /** A detector hears the caller no more; without one, none does. */
  speechStopped(source: Detector | null, now: number): FloorEffect[] {
    const spoke = this.callerSpeaks;
    if (source === null) this.#speaking.clear();
    else this.#speaking.delete(source);
    if (this.callerSpeaks) return [];
    if (spoke) this.#lastSpeechEndedAt = now;
    if (this.#pendingSince === null) return [];
    this.#unconfirmed = true;
    return this.#settle();
  }

  /** A digit interrupts but takes no floor. */
  digit(agentHasFloor: boolean, now: number): FloorEffect[] {
    if (!agentHasFloor || this.isProtected(now)) return [];
    this.#pendingSince = null;
    return [{ type: 'interrupt', source: 'digit' }];
  }

  /** Words were understood in what the caller says over the agent, or just said: it counts after all. */
  words(agentHasFloor: boolean): FloorEffect[] {
    const waits = this.#pendingSince !== null || this.#unconfirmed;
    this.#unconfirmed = false;
    if (!waits) return [];
    if (!agentHasFloor) return this.#settle();
    this.#pendingSince = null;
    return [{ type: 'interrupt', source: this.#source }];
  }

  tick(agentHasFloor: boolean, now: number): FloorEffect[] {
    if (this.#pendingSince === null) return [];
    if (!agentHasFloor) return this.#settle();
    const { policy, minSpeechMs, confirmMs } = this.#policy;
    if (now - this.#pendingSince < (policy === 'duck-then-confirm' ? confirmMs : minSpeechMs)) return [];
    this.#pendingSince = null;
    return [{ type: 'interrupt', source: this.#source }];
  }

  #settle(): FloorEffect[] {
    const waited = this.#pendingSince !== null;
    this.#pendingSince = null;
    return waited && this.#policy.policy === 'duck-then-confirm' ? [{ type: 'unduck' }] : [];
  }
}
