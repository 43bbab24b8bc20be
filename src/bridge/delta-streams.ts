/**
 * Parts of a streamed answer, put together: what was said before a tool call is progress, what ended is the answer. Pure.
 *
 * @module
 */

import type { Delta } from '../gateway/remote/index.ts';

/** Streams that may be under way at once; the oldest is forgotten. */
export const MAX_STREAMS = 200;
/** Longest text of a stream; what is over is not kept. */
export const MAX_STREAM_CHARS = 200_000;

export interface StreamedMessage {
  readonly chatId: string;
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly kind: 'final' | 'progress';
}

export class DeltaStreams {
  readonly #texts = new Map<string, string>();

  get size(): number {
    return this.#texts.size;
  }

  /** The message that a part completed, if it did. */
  take({ chatId, text, streamId, end, resuming, mergeNext, metadata }: Delta): StreamedMessage | null {
    // nanobot numbers the segments of a stream behind its name.
    const key = `${chatId}\n${(streamId ?? '').replace(/:\d+$/, '')}`;
    const whole = `${this.#texts.get(key) ?? ''}${text}`.slice(0, MAX_STREAM_CHARS);
    this.#texts.delete(key);
    if (end !== true || mergeNext === true) {
      this.#texts.set(key, whole);
      const [oldest] = this.#texts.keys();
      if (this.#texts.size > MAX_STREAMS && oldest !== undefined) this.#texts.delete(oldest);
      return null;
    }
    if (whole.trim() === '') return null;
    return {
      chatId,
      content: whole,
      metadata: metadata ?? {},
      kind: resuming === true ? 'progress' : 'final',
    };
  }
}
