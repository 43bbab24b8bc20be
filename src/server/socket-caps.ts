/**
 * Counts the sockets of strangers, in all and per address.
 *
 * @module
 */

import { MAX_UNAUTHENTICATED_SOCKETS, MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS } from './limits.ts';

export class SocketCaps {
  readonly #perAddress = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  /** Takes a place for a socket of this address; gives back the function that frees it, or `null` when full. */
  enter(address: string): (() => void) | null {
    const count = this.#perAddress.get(address) ?? 0;
    if (this.#total >= MAX_UNAUTHENTICATED_SOCKETS || count >= MAX_UNAUTHENTICATED_SOCKETS_PER_ADDRESS) {
      return null;
    }
    this.#total += 1;
    this.#perAddress.set(address, count + 1);
    let inside = true;
    return () => {
      if (!inside) return;
      inside = false;
      this.#total -= 1;
      const left = (this.#perAddress.get(address) ?? 1) - 1;
      if (left > 0) this.#perAddress.set(address, left);
      else this.#perAddress.delete(address);
    };
  }
}
