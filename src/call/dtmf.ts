/**
 * Keys that the caller presses: whoever asked for them gets them first, else they are collected into one entry for
 * the model: after `#`, after a pause, or when it is full. Digits never reach a log.
 *
 * Pure: time comes in as an argument.
 *
 * @module
 */

/** Keys of one entry. */
export const MAX_ENTRY_DIGITS = 32;
/** A pause this long ends an entry. */
export const ENTRY_PAUSE_MS = 2500;
/** Menus and PIN prompts that may wait for keys at once. */
export const MAX_DIGIT_CONSUMERS = 8;

export class DigitCollector {
  readonly #maxDigits: number;
  #digits = '';
  #lastAt = 0;

  constructor(maxDigits = MAX_ENTRY_DIGITS) {
    this.#maxDigits = maxDigits;
  }

  get isEmpty(): boolean {
    return this.#digits === '';
  }

  /** @returns the complete entry, without its `#`; a lone `#` is an entry of its own */
  digit(digit: string, now: number): string | null {
    this.#lastAt = now;
    if (digit === '#') return this.#take() ?? '#';
    this.#digits += digit;
    return this.#digits.length >= this.#maxDigits ? this.#take() : null;
  }

  tick(now: number): string | null {
    return this.#digits !== '' && now - this.#lastAt >= ENTRY_PAUSE_MS ? this.#take() : null;
  }

  #take(): string | null {
    const entry = this.#digits;
    this.#digits = '';
    return entry === '' ? null : entry;
  }
}

/** Takes keys before the model does. */
export interface DigitConsumer {
  /** Returns whether it took the key. */
  digit(digit: string, now: number): boolean;
  /** About ten times a second. */
  tick?(now: number): void;
  /** The call is over. */
  closed?(): void;
}

/** Those who asked for keys, the first one first. */
export class DigitConsumers {
  readonly #consumers = new Set<DigitConsumer>();
  #closed = false;

  get count(): number {
    return this.#consumers.size;
  }

  /** Returns how to take it off again; `null` when too many wait already, or no more keys come. */
  add(consumer: DigitConsumer): (() => void) | null {
    if (this.#closed || this.#consumers.size >= MAX_DIGIT_CONSUMERS) return null;
    this.#consumers.add(consumer);
    return () => void this.#consumers.delete(consumer);
  }

  take(digit: string, now: number): boolean {
    for (const consumer of this.#consumers) if (consumer.digit(digit, now)) return true;
    return false;
  }

  tick(now: number): void {
    for (const consumer of [...this.#consumers]) consumer.tick?.(now);
  }

  close(): void {
    const consumers = [...this.#consumers];
    this.#closed = true;
    this.#consumers.clear();
    for (const consumer of consumers) consumer.closed?.();
  }
}
