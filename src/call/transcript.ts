/**
 * What was said, in the order of the conversation and not of arrival, and for the agent only the words that were
 * heard.
 *
 * @module
 */

import type { ItemHearing } from './playback.ts';

/** Items whose words are kept while they play. */
export const MAX_OPEN_TRANSCRIPTS = 256;
/** Words of one item, in characters. */
export const MAX_TRANSCRIPT_CHARS = 20_000;

/**
 * The words of a text that fall within the first `heardMs` of `totalMs`, cut at a word. Speech rate is taken as
 * even over one item; the model gives no word times.
 */
export function heardWords(text: string, heardMs: number, totalMs: number): string {
  if (totalMs <= 0 || heardMs <= 0) return '';
  if (heardMs >= totalMs) return text;
  const cut = Math.floor((text.length * heardMs) / totalMs);
  if (cut <= 0) return '';
  const atWord = text.lastIndexOf(' ', cut);
  // A word of which only a part was heard does not count.
  return atWord <= 0 ? '' : text.slice(0, atWord).trimEnd();
}

/** The words of an item that was heard in part, or whole. */
export interface CutText {
  readonly heard: string;
  readonly rest: string;
}

/** Divides an item's words at where it was cut. */
export function cutText(text: string, { whole, heardMs, receivedMs }: ItemHearing): CutText {
  const heard = whole ? text : heardWords(text, heardMs, receivedMs);
  return { heard, rest: text.slice(heard.length).trimStart() };
}

/** Collects the words of items until it is known how much of each was heard. */
export class SpokenWords {
  readonly #texts = new Map<string, string>();

  get size(): number {
    return this.#texts.size;
  }

  /** A delta, or with `final` the whole text, which replaces the deltas. */
  add(itemId: string, text: string, final: boolean): void {
    const before = this.#texts.get(itemId) ?? '';
    this.#texts.set(itemId, (final ? text : before + text).slice(0, MAX_TRANSCRIPT_CHARS));
    if (this.#texts.size <= MAX_OPEN_TRANSCRIPTS) return;
    const oldest = this.#texts.keys().next().value;
    if (oldest !== undefined) this.#texts.delete(oldest);
  }

  /** The words of an item that has ended; they are forgotten. */
  take(hearing: ItemHearing): CutText {
    const text = this.#texts.get(hearing.itemId) ?? '';
    this.#texts.delete(hearing.itemId);
    return cutText(text, hearing);
  }

  clear(): void {
    this.#texts.clear();
  }
}
