/**
 * One writer per file. nanobot's edits are atomic because nothing awaits in them; ours await, so two edits of one
 * file take turns.
 *
 * @module
 */

export class PathLocks {
  readonly #tails = new Map<string, Promise<void>>();

  /** Paths with a writer at work or waiting; entries leave with their last writer. */
  get size(): number {
    return this.#tails.size;
  }

  /** Runs `work` after every earlier work on the same path. */
  async run<T>(path: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(path) ?? Promise.resolve();
    const mine = before.then(work);
    const tail = mine.then(
      () => {},
      () => {},
    );
    this.#tails.set(path, tail);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(path) === tail) this.#tails.delete(path);
    }
  }
}
