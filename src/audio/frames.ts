/**
 * Cuts a byte stream into frames of one size, whatever sizes it comes in.
 *
 * @module
 */

import type { AudioFormat } from './format.ts';
import { silence } from './samples.ts';

/** Keeps less than one frame between calls. */
export class FrameSplitter {
  readonly frameBytes: number;
  readonly #format: AudioFormat;
  #rest: Uint8Array = new Uint8Array(0);

  /** @param frameBytes - size of every frame, 1 or more */
  constructor(frameBytes: number, format: AudioFormat) {
    if (!Number.isInteger(frameBytes) || frameBytes < 1) throw new RangeError('frameBytes must be 1 or more');
    this.frameBytes = frameBytes;
    this.#format = format;
  }

  /** Bytes held back because they don't fill a frame yet. */
  get pendingBytes(): number {
    return this.#rest.byteLength;
  }

  /** The whole frames that are now there. They may be views of `chunk`. */
  push(chunk: Uint8Array): Uint8Array[] {
    const size = this.frameBytes;
    const frames: Uint8Array[] = [];
    let at = 0;
    if (this.#rest.byteLength > 0) {
      const missing = size - this.#rest.byteLength;
      const joined = new Uint8Array(this.#rest.byteLength + Math.min(missing, chunk.byteLength));
      joined.set(this.#rest);
      joined.set(chunk.subarray(0, missing), this.#rest.byteLength);
      at = Math.min(missing, chunk.byteLength);
      if (joined.byteLength < size) {
        this.#rest = joined;
        return frames;
      }
      frames.push(joined);
    }
    for (; at + size <= chunk.byteLength; at += size) frames.push(chunk.subarray(at, at + size));
    this.#rest = chunk.slice(at);
    return frames;
  }

  /** The last frame, padded with silence, or `null` when nothing is held. */
  flush(): Uint8Array | null {
    if (this.#rest.byteLength === 0) return null;
    const frame = silence(this.frameBytes, this.#format);
    frame.set(this.#rest);
    this.#rest = new Uint8Array(0);
    return frame;
  }

  /** Forgets what is held. */
  reset(): void {
    this.#rest = new Uint8Array(0);
  }
}
