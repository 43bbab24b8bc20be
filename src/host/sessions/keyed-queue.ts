import { VoiceError } from '../../errors.ts';

/** Runs work one after the other per key, and side by side for different keys. */
export class KeyedQueue {
  readonly #tails = new Map<string, Promise<void>>();
  readonly #capacity: number;
  #pending = 0;

  /** @param capacity - pieces of work under way or waiting, over all keys */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Keys that have work under way or waiting. */
  get size(): number {
    return this.#tails.size;
  }

  /** Rejects with `HOST_UNAVAILABLE` when too much is waiting, else with what `work` rejects with. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    if (this.#pending >= this.#capacity) {
      throw new VoiceError('HOST_UNAVAILABLE', 'Too much is waiting; the disk or a tool is too slow.');
    }
    this.#pending += 1;
    const result = (this.#tails.get(key) ?? Promise.resolve()).then(work);
    const tail: Promise<void> = result.then(
      () => this.#release(key, tail),
      () => this.#release(key, tail),
    );
    this.#tails.set(key, tail);
    return result;
  }

  /** Resolves when all work that was given so far is done. */
  async idle(): Promise<void> {
    await Promise.all(this.#tails.values());
  }

  #release(key: string, tail: Promise<void>): void {
    this.#pending -= 1;
    if (this.#tails.get(key) === tail) this.#tails.delete(key);
  }
}
