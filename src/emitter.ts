/**
 * A typed event emitter whose listeners can't break the media path: a listener that throws is reported
 * through `onListenerError` and the next listener still runs.
 *
 * @module
 */

/** Event name → tuple of arguments. */
export type EventMap = Record<string, readonly unknown[]>;

type Listener<Args extends readonly unknown[]> = (...args: Args) => void;

export class Emitter<Events extends { [K in keyof Events]: readonly unknown[] }> {
  readonly #listeners = new Map<keyof Events, Listener<never>[]>();

  /** Called with what a listener threw; replace it to log. By default it is dropped. */
  onListenerError: (error: unknown, event: keyof Events) => void = () => {};

  /** Adds a listener and returns the function that removes it. */
  on<K extends keyof Events>(event: K, listener: Listener<Events[K]>): () => void {
    const list = this.#listeners.get(event);
    // Copy on write: a listener added or removed while an event is being emitted does not disturb that emit.
    this.#listeners.set(event, list ? [...list, listener as Listener<never>] : [listener as Listener<never>]);
    return () => this.off(event, listener);
  }

  off<K extends keyof Events>(event: K, listener: Listener<Events[K]>): void {
    const list = this.#listeners.get(event);
    if (!list) return;
    const next = list.filter((each) => each !== listener);
    if (next.length > 0) this.#listeners.set(event, next);
    else this.#listeners.delete(event);
  }

  emit<K extends keyof Events>(event: K, ...args: Events[K]): void {
    const list = this.#listeners.get(event);
    if (!list) return;
    for (const listener of list) {
      try {
        listener(...(args as never));
      } catch (error) {
        this.onListenerError(error, event);
      }
    }
  }

  removeAllListeners(): void {
    this.#listeners.clear();
  }

  /** How many listeners are attached, to one event or in all; for leak tests. */
  listenerCount(event?: keyof Events): number {
    if (event !== undefined) return this.#listeners.get(event)?.length ?? 0;
    let count = 0;
    for (const list of this.#listeners.values()) count += list.length;
    return count;
  }
}
