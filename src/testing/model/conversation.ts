/**
 * The items of a fake session, in order, with what the rules about them need to know.
 *
 * @module
 */

import { missingItem, type Refusal } from './refusal.ts';

/** An item as it travels, plus how much audio of it was sent. */
export interface ConversationItem {
  readonly id: string;
  readonly type: string;
  readonly role?: 'user' | 'assistant' | 'system';
  status: 'completed' | 'incomplete' | 'in_progress';
  content?: readonly Readonly<Record<string, unknown>>[];
  readonly name?: string;
  readonly call_id?: string;
  arguments?: string;
  readonly output?: string;
}

export class Conversation {
  #items: ConversationItem[] = [];
  /** Audio of an item that left the server, in bytes of the output format. */
  readonly #audioBytes = new Map<string, number>();

  get items(): readonly ConversationItem[] {
    return this.#items;
  }

  find(id: string): ConversationItem | undefined {
    return this.#items.find((item) => item.id === id);
  }

  findCall(callId: string): ConversationItem | undefined {
    return this.#items.find((item) => item.type === 'function_call' && item.call_id === callId);
  }

  hasOutput(callId: string): boolean {
    return this.#items.some((item) => item.type === 'function_call_output' && item.call_id === callId);
  }

  /**
   * @param afterId - item to follow; `root` is the front, `null` the end
   * @returns id of the item it follows, or undefined when `afterId` is unknown
   */
  add(item: ConversationItem, afterId: string | null): string | null | undefined {
    if (afterId === null) {
      const last = this.#items.at(-1)?.id ?? null;
      this.#items.push(item);
      return last;
    }
    if (afterId === 'root') {
      this.#items.unshift(item);
      return null;
    }
    const index = this.#items.findIndex((each) => each.id === afterId);
    if (index < 0) return undefined;
    this.#items.splice(index + 1, 0, item);
    return afterId;
  }

  previousOf(id: string): string | null {
    const index = this.#items.findIndex((item) => item.id === id);
    return index > 0 ? (this.#items[index - 1]?.id ?? null) : null;
  }

  remove(id: string): boolean {
    const before = this.#items.length;
    this.#items = this.#items.filter((item) => item.id !== id);
    this.#audioBytes.delete(id);
    return this.#items.length < before;
  }

  addAudio(id: string, bytes: number): void {
    this.#audioBytes.set(id, (this.#audioBytes.get(id) ?? 0) + bytes);
  }

  /** Audio of the item that counts, in bytes; undefined when it has none. */
  audioBytes(id: string): number | undefined {
    return this.#audioBytes.get(id);
  }

  setAudio(id: string, bytes: number): void {
    this.#audioBytes.set(id, bytes);
  }

  /** Cuts what the model said of an item. @returns what is wrong with that, in the server's words */
  truncate(itemId: string, audioEndMs: number, bytesPerMs: number): Refusal | null {
    const item = this.find(itemId);
    if (!item) return missingItem('truncat', 'truncate', itemId);
    const bytes = this.audioBytes(itemId);
    if (item.role !== 'assistant' || bytes === undefined) {
      const message = 'Only model output audio messages can be truncated';
      return { code: 'unsupported_content_type', message, param: null };
    }
    const haveMs = Math.floor(bytes / bytesPerMs);
    if (audioEndMs > haveMs) {
      const message = `Audio content of ${haveMs}ms is already shorter than ${audioEndMs}ms`;
      return { code: 'invalid_value', message, param: null };
    }
    this.setAudio(itemId, audioEndMs * bytesPerMs);
    // The transcript goes too, so that the model does not think that the rest was heard.
    item.content = [{ type: 'output_audio', transcript: null }];
    return null;
  }
}
