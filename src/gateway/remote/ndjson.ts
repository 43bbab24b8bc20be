/**
 * The framing of the bridge: one message per line. Pure: bytes in, lines out, whatever way the reads were split.
 *
 * @module
 */

/** Longest line, in bytes, without its newline. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

const NEWLINE = 0x0a;
const RETURN = 0x0d;

export type Frame =
  | { readonly type: 'line'; readonly text: string }
  /** A line was longer than it may be; it was thrown away up to its newline. */
  | { readonly type: 'too_long' };

/** Cuts a stream of bytes into lines. Holds at most one line's bytes. */
export class LineSplitter {
  readonly #maxBytes: number;
  /** The beginning of a line whose end has not come yet. */
  #parts: Uint8Array[] = [];
  #length = 0;
  #isSkipping = false;

  constructor(maxBytes: number = MAX_LINE_BYTES) {
    this.#maxBytes = maxBytes;
  }

  /** Bytes held for a line that is not complete. */
  get heldBytes(): number {
    return this.#length;
  }

  push(chunk: Uint8Array): Frame[] {
    const frames: Frame[] = [];
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(NEWLINE, from);
      if (end < 0) break;
      this.#hold(chunk.subarray(from, end));
      const frame = this.#end();
      if (frame) frames.push(frame);
      from = end + 1;
    }
    this.#hold(chunk.subarray(from));
    return frames;
  }

  #hold(bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#isSkipping) return;
    // One more than allowed may be a carriage return.
    if (this.#length + bytes.length > this.#maxBytes + 1) {
      this.#isSkipping = true;
      this.#parts = [];
      this.#length = 0;
      return;
    }
    this.#parts.push(bytes);
    this.#length += bytes.length;
  }

  #end(): Frame | null {
    const wasSkipping = this.#isSkipping;
    const [only] = this.#parts;
    const bytes = this.#parts.length === 1 && only ? only : Buffer.concat(this.#parts);
    this.#isSkipping = false;
    this.#parts = [];
    this.#length = 0;
    if (wasSkipping) return { type: 'too_long' };
    const length = bytes.at(-1) === RETURN ? bytes.length - 1 : bytes.length;
    if (length === 0) return null;
    if (length > this.#maxBytes) return { type: 'too_long' };
    return { type: 'line', text: Buffer.from(bytes.buffer, bytes.byteOffset, length).toString('utf8') };
  }
}

/**
 * One message as a line, its newline with it; `null` when it would be longer than a line may be.
 *
 * @throws TypeError for what is no JSON (a cycle, a bigint)
 */
export function encodeLine(message: unknown, maxBytes: number = MAX_LINE_BYTES): Buffer | null {
  // JSON text never holds a raw newline.
  const line = Buffer.from(`${JSON.stringify(message)}\n`, 'utf8');
  return line.length - 1 > maxBytes ? null : line;
}
