/** First in, first out, with a bound; readers wait for what is not there yet. */
export class BoundedQueue<T> {
  readonly #capacity: number;
  readonly #items: T[] = [];
  readonly #readers = new Set<(item: T | null) => void>();
  #closed = false;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#items.length;
  }

  /** False when the queue is full or closed; the item is then not taken. */
  push(item: T): boolean {
    if (this.#closed) return false;
    const [reader] = this.#readers;
    if (reader) {
      reader(item);
      return true;
    }
    if (this.#items.length >= this.#capacity) return false;
    this.#items.push(item);
    return true;
  }

  /** The next item; `null` once the queue is closed and empty, or `signal` aborted. */
  take(signal?: AbortSignal): Promise<T | null> {
    const item = this.#items.shift();
    if (item !== undefined) return Promise.resolve(item);
    if (this.#closed || signal?.aborted) return Promise.resolve(null);
    return new Promise((resolve) => {
      const settle = (value: T | null) => {
        this.#readers.delete(settle);
        signal?.removeEventListener('abort', onAbort);
        resolve(value);
      };
      const onAbort = () => settle(null);
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#readers.add(settle);
    });
  }

  /** Takes nothing more; what is there can still be read. Idempotent. */
  close(): void {
    this.#closed = true;
    for (const reader of [...this.#readers]) reader(null);
  }
}
