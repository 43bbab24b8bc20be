/**
 * The caller's words so far, whether a server sends what is new or the whole each time.
 *
 * @module
 */

import { BoundedMap } from './bounded-map.ts';

/** Turns whose transcript is still growing. */
export const MAX_OPEN_TRANSCRIPTS = 16;

export class InputTranscripts {
  readonly #texts = new BoundedMap<string, string>(MAX_OPEN_TRANSCRIPTS);

  /** Appends to a turn's text and returns it whole. */
  append(itemId: string, delta: string): string {
    const text = (this.#texts.get(itemId) ?? '') + delta;
    this.#texts.set(itemId, text);
    return text;
  }

  /** The turn is over. */
  finish(itemId: string): void {
    this.#texts.delete(itemId);
  }
}
