/**
 * Whether what interrupted the agent was the caller or a noise. It was the caller as soon as a word is understood or
 * anything answers it; it was a noise when neither has happened for a while after the sound ended.
 *
 * Pure: time comes in as an argument.
 *
 * @module
 */

/** Resumptions in a row without a word of the caller's; a line that noisy must not keep the agent talking. */
export const MAX_RESUMPTIONS = 3;

export interface FalseAlarmPolicy {
  readonly resumeFalseAlarms: boolean;
  /** Silence, in ms, after which it was a noise. */
  readonly falseAlarmWaitMs: number;
}

export class FalseAlarms {
  readonly #policy: FalseAlarmPolicy;
  #state: { readonly name: 'idle' | 'sound' } | { readonly name: 'silence'; readonly since: number } = {
    name: 'idle',
  };
  #resumptions = 0;

  constructor(policy: FalseAlarmPolicy) {
    this.#policy = policy;
  }

  /** It is not known yet who it was. */
  get isOpen(): boolean {
    return this.#state.name !== 'idle';
  }

  /** Whether the next interruption may be found to be a noise. */
  get isWorthKeeping(): boolean {
    return this.#policy.resumeFalseAlarms && this.#resumptions < MAX_RESUMPTIONS;
  }

  /** Something cut the agent off. */
  interrupted(callerSpeaks: boolean, now: number): void {
    if (!this.isWorthKeeping) return;
    this.#state = callerSpeaks ? { name: 'sound' } : { name: 'silence', since: now };
  }

  speechStarted(): void {
    if (this.isOpen) this.#state = { name: 'sound' };
  }

  speechStopped(now: number): void {
    if (this.#state.name === 'sound') this.#state = { name: 'silence', since: now };
  }

  /** It was the caller. */
  confirmed(): void {
    this.#state = { name: 'idle' };
    this.#resumptions = 0;
  }

  /** Nothing was understood in what was said: waiting for words is over once the caller is silent. */
  nothingSaid(now: number): void {
    if (this.#state.name === 'silence')
      this.#state = { name: 'silence', since: now - this.#policy.falseAlarmWaitMs };
  }

  /** @returns whether it was a noise, once */
  tick(now: number): boolean {
    if (this.#state.name !== 'silence' || now - this.#state.since < this.#policy.falseAlarmWaitMs)
      return false;
    this.#state = { name: 'idle' };
    this.#resumptions++;
    return true;
  }
}

/** Whether a text is nothing but what listeners murmur, such as "mhm". */
export function isBackchannel(text: string, murmurs: readonly string[]): boolean {
  const spoken = text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
  return spoken === '' || murmurs.includes(spoken);
}
