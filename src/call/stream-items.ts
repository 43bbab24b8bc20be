/**
 * The endless sound of a full-duplex model, cut into items: each run of speech is one, and the silence between them
 * is not sent, so that the line knows when it is quiet.
 *
 * @module
 */

import { type AudioData, type AudioFormat, audioBytes, audioDurationMs, toSamples } from '../audio/index.ts';

/** Silence that ends an item; a shorter one is a pause within it. */
export const ITEM_PAUSE_MS = 400;
/** Samples below this are silence, of 32,767. */
const QUIET = 200;

export class StreamItems {
  readonly #format: AudioFormat;
  readonly #session: number;
  #count = 1;
  #open = false;
  #quietMs = 0;
  #lastAt = 0;
  #ended: string | null = null;

  /** @param session - which session of the call, so that no two have an item's name in common */
  constructor(format: AudioFormat, session: number) {
    this.#format = format;
    this.#session = session;
  }

  /** The item that is being said, or the next one. */
  get current(): string {
    return `stream_${this.#session}_${this.#count}`;
  }

  /** The item that this audio belongs to; `null` for the silence between two. */
  itemOf(audio: AudioData, now: number): string | null {
    this.#lastAt = now;
    if (this.#isLoud(audio)) {
      this.#open = true;
      this.#quietMs = 0;
      return this.current;
    }
    if (!this.#open) return null;
    this.#quietMs += audioDurationMs(audio, this.#format);
    const { current } = this;
    if (this.#quietMs >= ITEM_PAUSE_MS) this.#end();
    return current;
  }

  /** The item that has ended since the last time, if one has. */
  tick(now: number): string | null {
    if (this.#open && now - this.#lastAt >= ITEM_PAUSE_MS) this.#end();
    const ended = this.#ended;
    this.#ended = null;
    return ended;
  }

  #end(): void {
    this.#ended = this.current;
    this.#open = false;
    this.#quietMs = 0;
    this.#count++;
  }

  #isLoud(audio: AudioData): boolean {
    return toSamples(audioBytes(audio), this.#format).some((sample) => Math.abs(sample) > QUIET);
  }
}
