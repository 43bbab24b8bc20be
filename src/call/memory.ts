/**
 * What was said on this call, heard words only, in bounded memory: the history that a new session of the model gets.
 *
 * @module
 */

import type { HistoryItem } from '../model/index.ts';

/** Items and characters that a new session is told. */
export const MAX_MEMORY_ITEMS = 24;
export const MAX_MEMORY_CHARS = 6000;

interface Entry {
  readonly role: HistoryItem['role'];
  /** `null`: the caller's words, not known yet. Their place is kept, since a transcript may come after the answer. */
  text: string | null;
}

export class ConversationMemory {
  readonly #before: readonly HistoryItem[];
  readonly #reserved = new Map<string, Entry>();
  #entries: Entry[] = [];

  /** @param before - what the session held before this call */
  constructor(before: readonly HistoryItem[]) {
    this.#before = before;
  }

  add(role: HistoryItem['role'], text: string): void {
    if (text === '') return;
    const last = this.#entries.at(-1);
    if (last?.role === 'assistant' && role === 'assistant')
      last.text = `${last.text} ${text}`.slice(-MAX_MEMORY_CHARS);
    else this.#push({ role, text: text.slice(0, MAX_MEMORY_CHARS) });
  }

  /** The caller's turn is committed; its words come later or never. */
  reserve(itemId: string): void {
    const entry: Entry = { role: 'user', text: null };
    this.#reserved.set(itemId, entry);
    this.#push(entry);
    if (this.#reserved.size <= MAX_MEMORY_ITEMS) return;
    const oldest = this.#reserved.keys().next().value;
    if (oldest !== undefined) this.#reserved.delete(oldest);
  }

  /** The words of a reserved turn. */
  fill(itemId: string, text: string): void {
    const entry = this.#reserved.get(itemId);
    if (entry) entry.text = text.slice(0, MAX_MEMORY_CHARS);
    else this.add('user', text);
    this.#reserved.delete(itemId);
  }

  /** Oldest first, within both bounds, newest kept. */
  history(): HistoryItem[] {
    const kept: HistoryItem[] = [];
    let chars = 0;
    for (const { role, text } of [...this.#before, ...this.#entries].reverse()) {
      if (text === null || text === '') continue;
      chars += text.length;
      if (kept.length >= MAX_MEMORY_ITEMS || chars > MAX_MEMORY_CHARS) break;
      kept.push({ role, text });
    }
    return kept.reverse();
  }

  #push(entry: Entry): void {
    this.#entries.push(entry);
    if (this.#entries.length > MAX_MEMORY_ITEMS * 2) this.#entries = this.#entries.slice(-MAX_MEMORY_ITEMS);
  }
}
