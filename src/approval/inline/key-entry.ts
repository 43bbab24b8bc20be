/**
 * Keys as one entry: complete at a length, at `#`, or after a pause. `*` begins it anew. Digits never leave this room.
 *
 * @module
 */

/** A pause this long ends an entry that is not complete. */
export const KEY_PAUSE_MS = 4000;

export class KeyEntry {
  readonly #length: number;
  #digits = '';
  #lastAt = 0;

  /** @param length - digits after which an entry is complete by itself */
  constructor(length: number) {
    this.#length = length;
  }

  /** @returns the complete entry, or `null` */
  push(digit: string, now: number): string | null {
    this.#lastAt = now;
    if (digit === '#') return this.#take();
    if (digit === '*') this.#digits = '';
    else this.#digits += digit;
    return this.#digits.length >= this.#length ? this.#take() : null;
  }

  tick(now: number): string | null {
    return this.#digits !== '' && now - this.#lastAt >= KEY_PAUSE_MS ? this.#take() : null;
  }

  #take(): string | null {
    const entry = this.#digits;
    this.#digits = '';
    return entry === '' ? null : entry;
  }
}
