/**
 * What was said on this session, as far as it was heard: the offline model's own history.
 *
 * @module
 */

import type { HistoryItem } from '../contract.ts';

/** Items kept; the oldest go first. */
export const MAX_ITEMS = 200;

/** One sentence of a spoken item and where it lies in the item's audio. */
export interface SpokenSentence {
  readonly text: string;
  readonly startMs: number;
  readonly endMs: number;
}

interface Item {
  readonly itemId: string;
  readonly role: HistoryItem['role'];
  /** Sentences of spoken items; one of no length for text. */
  readonly sentences: SpokenSentence[];
  /** What was heard of it; `null` is all. */
  heardMs: number | null;
}

export type TruncateOutcome = 'ok' | 'unknown-item' | 'beyond-end';

export class Conversation {
  readonly #items = new Map<string, Item>();
  readonly #nextItemId: () => string;

  constructor(nextItemId: () => string) {
    this.#nextItemId = nextItemId;
  }

  addText(role: HistoryItem['role'], text: string, itemId = this.#nextItemId()): void {
    this.#add({ itemId, role, sentences: [{ text, startMs: 0, endMs: 0 }], heardMs: null });
  }

  /** Adds a sentence to what the assistant says in this item. */
  speak(itemId: string, sentence: SpokenSentence): void {
    const item = this.#items.get(itemId);
    if (item) item.sentences.push(sentence);
    else this.#add({ itemId, role: 'assistant', sentences: [sentence], heardMs: null });
  }

  truncate(itemId: string, heardMs: number): TruncateOutcome {
    const item = this.#items.get(itemId);
    if (item?.role !== 'assistant') return 'unknown-item';
    if (heardMs > (item.sentences.at(-1)?.endMs ?? 0)) return 'beyond-end';
    item.heardMs = heardMs;
    return 'ok';
  }

  /** Whether there was such an item. */
  delete(itemId: string): boolean {
    return this.#items.delete(itemId);
  }

  /** The heard words of the assistant's last item in which anything was heard, or `null`. */
  lastHeard(): string | null {
    for (const item of [...this.#items.values()].reverse()) {
      if (item.role !== 'assistant') continue;
      const text = heardText(item);
      if (text !== '') return text;
    }
    return null;
  }

  /** Everything, as heard, oldest first. */
  history(): HistoryItem[] {
    return [...this.#items.values()]
      .map((item) => ({ role: item.role, text: heardText(item) }))
      .filter(({ text }) => text !== '');
  }

  #add(item: Item): void {
    this.#items.set(item.itemId, item);
    const [oldest] = this.#items.keys();
    if (this.#items.size > MAX_ITEMS && oldest !== undefined) this.#items.delete(oldest);
  }
}

/** Whole sentences, and of the one that was cut as many words as its heard share. */
function heardText(item: Item): string {
  const { heardMs } = item;
  const heard = item.sentences.map(({ text, startMs, endMs }) => {
    if (heardMs === null || heardMs >= endMs) return text;
    if (heardMs <= startMs) return '';
    const words = text.split(' ');
    return words.slice(0, Math.floor((words.length * (heardMs - startMs)) / (endMs - startMs))).join(' ');
  });
  return heard.filter((text) => text !== '').join(' ');
}
