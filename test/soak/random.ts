/** A seeded source of chance, so that a soak that fails can be played again. `SOAK_SEED` sets the seed. */
export const SEED = Number(process.env.SOAK_SEED ?? Date.now() & 0x7fff_ffff);

export class Chance {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Evenly spread, 0 to 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from 0 to `below` - 1. */
  int(below: number): number {
    return Math.floor(this.next() * below);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.int(from.length)]!;
  }
}
