/**
 * Counts something of each address, and in all, within a minute.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';

/** Addresses remembered; with more in one minute, the count in all is what holds. */
export const MAX_COUNTED_ADDRESSES = 4096;

export interface AddressLimits {
  readonly perAddress: number;
  readonly total: number;
}

export class AddressRate {
  readonly #limits: AddressLimits;
  readonly #clock: Clock;
  readonly #counts = new Map<string, number>();
  #total = 0;
  #minute = -1;

  constructor(limits: AddressLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Addresses counted in this minute. */
  get size(): number {
    return this.#counts.size;
  }

  isOver(address: string): boolean {
    this.#turn();
    return this.#total >= this.#limits.total || (this.#counts.get(address) ?? 0) >= this.#limits.perAddress;
  }

  count(address: string): void {
    this.#turn();
    this.#total += 1;
    const count = this.#counts.get(address);
    if (count !== undefined || this.#counts.size < MAX_COUNTED_ADDRESSES)
      this.#counts.set(address, (count ?? 0) + 1);
  }

  #turn(): void {
    const minute = Math.floor(this.#clock.now() / 60_000);
    if (minute === this.#minute) return;
    this.#minute = minute;
    this.#counts.clear();
    this.#total = 0;
  }
}
