/**
 * Collects keys into one entry: after `#`, after a pause, or when it is full. Digits never reach a log.
 *
 * Pure: time comes in as an argument.
 *
 * @module
 */

/** Keys of one entry. */
export const MAX_ENTRY_DIGITS = 32;
/** A pause this long ends an entry. */
export const ENTRY_PAUSE_MS = 2500;

export class DigitCollector {
  #digits = '';
  #lastAt = 0;

  get isEmpty(): boolean {
    return this.#digits === '';
  }

  /** @returns the complete entry, without its `#`; a lone `#` is an entry of its own */
  digit(digit: string, now: number): string | null {
    this.#lastAt = now;
    if (digit === '#') return this.#take() ?? '#';
    this.#digits += digit;
    return this.#digits.length >= MAX_ENTRY_DIGITS ? this.#take() : null;
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
