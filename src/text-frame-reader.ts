/**
 * Text messages of an open WebSocket, read in front of `ws`. A hundred short messages a second and call go through a
 * stream, a list of buffers and an event there; here a whole frame of ASCII is one string. Every other frame (split over
 * two reads, fragmented, binary, control, long, not ASCII, wrong in any way) is `ws`'s, from its first byte to its last,
 * so that what is right and what is refused stays its decision.
 * RFC 6455, section 5.2: https://datatracker.ietf.org/doc/html/rfc6455#section-5.2
 *
 * @module
 */

import { isUtf8 } from 'node:buffer';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import { applyMask, holdFrames, releaseFrames } from './text-frames.ts';

/** Longest message read here, in bytes; longer ones come seldom. */
export const MAX_SHORT_BYTES = 16 * 1024;

const FINAL = 0x80;
const RSV_BITS = 0x70;
const OPCODE_BITS = 0x0f;
const CONTROL_BIT = 0x08;
const CONTINUATION = 0x00;
const BINARY = 0x02;
const CLOSE = 0x08;
const PONG = 0x0a;
const FINAL_TEXT = 0x81;
const MASK_BIT = 0x80;
const LENGTH_BITS = 0x7f;
const LENGTH_16 = 126;
const LENGTH_64 = 127;
const MASK_BYTES = 4;
/** What an invalid byte turns into. */
const REPLACED = '\uFFFD';
/** Longest head of a frame. */
const MAX_HEAD_BYTES = 14;

type Listener = (this: Duplex, chunk: Buffer) => void;

/**
 * Takes the place of `ws`'s listener on its own socket.
 *
 * @param ws - open, without extensions
 * @param socket - the stream that it reads
 * @param masked - whether the other side is a client
 * @param onText - gets the short messages, in their order among those that `ws` tells
 * @returns `false` when `ws` does not listen to the stream; then everything stays with it
 */
export function readTextFrames(
  ws: WebSocket,
  socket: Duplex,
  masked: boolean,
  onText: (text: string) => void,
): boolean {
  const [behind, ...others] = socket.listeners('data') as Listener[];
  if (!behind || others.length > 0) return false;
  const reader = new TextFrameReader(masked, onText, (chunk) => behind.call(socket, chunk));
  socket.removeListener('data', behind);
  socket.on('data', (chunk: Buffer) => reader.push(chunk));
  // `ws` takes its listener off then, and what still comes is nobody's.
  ws.once('error', () => reader.stop());
  return true;
}

export class TextFrameReader {
  readonly #maskBit: number;
  readonly #onText: (text: string) => void;
  readonly #pass: (bytes: Buffer) => void;
  /** Bytes of a frame of `ws`'s that are still to come. */
  #owed = 0;
  /** `ws` has the beginning of a fragmented message. */
  #isFragmented = false;
  /** The first bytes of a head that was split over two reads; `ws` has them. */
  #head: Buffer | null = null;
  /** A frame of `ws`'s is the last one. */
  #isClosing = false;
  /** `ws` will not go on after what it was given: the rest is its own. */
  #isRefused = false;
  #isStopped = false;

  /** @param pass - gets the bytes of all other frames */
  constructor(masked: boolean, onText: (text: string) => void, pass: (bytes: Buffer) => void) {
    this.#maskBit = masked ? MASK_BIT : 0;
    this.#onText = onText;
    this.#pass = pass;
  }

  /** What is sent because of these bytes leaves together when all of them have been read. */
  push(chunk: Buffer): void {
    holdFrames();
    try {
      this.#read(chunk);
    } finally {
      releaseFrames();
    }
  }

  /** Drops what still comes. */
  stop(): void {
    this.#isStopped = true;
  }

  #read(chunk: Buffer): void {
    const { length } = chunk;
    let at = 0;
    if (this.#head) at = this.#completeHead(chunk);
    while (at < length && !this.#isStopped) {
      if (this.#isRefused) {
        this.#pass(at === 0 ? chunk : chunk.subarray(at));
        return;
      }
      if (this.#owed > 0) {
        const end = Math.min(length, at + this.#owed);
        this.#owed -= end - at;
        this.#pass(at === 0 && end === length ? chunk : chunk.subarray(at, end));
        at = end;
        continue;
      }
      // Nothing counts behind a close frame.
      if (this.#isClosing) return;
      const end = this.#shortText(chunk, at);
      if (end > 0) at = end;
      else if (!this.#owe(chunk, at)) {
        this.#head = Buffer.from(chunk.subarray(at));
        this.#pass(chunk.subarray(at));
        return;
      }
    }
  }

  /** Reads the frame at `at` when it is one of ours. Returns where it ends, or 0. */
  #shortText(chunk: Buffer, at: number): number {
    if (chunk[at] !== FINAL_TEXT || this.#isFragmented) return 0;
    const second = chunk[at + 1] ?? 0;
    let size = second & LENGTH_BITS;
    let bodyAt = at + 2;
    if (size === LENGTH_16) {
      size = ((chunk[at + 2] ?? 0) << 8) | (chunk[at + 3] ?? 0);
      bodyAt += 2;
    } else if (size === LENGTH_64) return 0;
    if (this.#maskBit !== 0) bodyAt += MASK_BYTES;
    const end = bodyAt + size;
    if ((second & MASK_BIT) !== this.#maskBit || size > MAX_SHORT_BYTES || end > chunk.length) return 0;
    if (this.#maskBit !== 0) applyMask(chunk, bodyAt, end);
    const text = chunk.toString('utf8', bodyAt, end);
    if (text.length !== size || text.includes(REPLACED)) {
      // `ws` fails a moment after it was given what is no UTF-8.
      if (!isUtf8(chunk.subarray(bodyAt, end))) this.#isRefused = true;
      // Put back as it came.
      if (this.#maskBit !== 0) applyMask(chunk, bodyAt, end);
      return 0;
    }
    this.#onText(text);
    return end;
  }

  /** The frame at `at` is `ws`'s. Returns whether its length is known. */
  #owe(chunk: Buffer, at: number): boolean {
    const head = headBytes(chunk, at);
    if (head === 0) return false;
    const first = chunk[at] ?? 0;
    const size = bodyBytes(chunk, at);
    const opcode = first & OPCODE_BITS;
    const isFinal = (first & FINAL) !== 0;
    const isMasked = ((chunk[at + 1] ?? 0) & MASK_BIT) === this.#maskBit;
    this.#owed = head + size;
    if (this.#isRefused) return true;
    if (opcode > PONG || (first & RSV_BITS) !== 0 || !isMasked) this.#isRefused = true;
    else if ((opcode & CONTROL_BIT) !== 0) {
      this.#isClosing = opcode === CLOSE;
      this.#isRefused = !isFinal || size >= LENGTH_16;
    } else {
      this.#isRefused = opcode > BINARY || (opcode === CONTINUATION) !== this.#isFragmented;
      this.#isFragmented = !isFinal;
    }
    return true;
  }

  /** Returns where in the chunk the frame's length is known and `ws` has all before. */
  #completeHead(chunk: Buffer): number {
    const known = this.#head ?? Buffer.alloc(0);
    const joined = Buffer.concat([known, chunk.subarray(0, MAX_HEAD_BYTES)]);
    if (!this.#owe(joined, 0)) {
      this.#head = joined;
      this.#pass(chunk);
      return chunk.length;
    }
    this.#owed -= known.length;
    this.#head = null;
    return 0;
  }
}

/** Length of the head at `at`; 0 when it is not all there. */
function headBytes(chunk: Buffer, at: number): number {
  if (chunk.length - at < 2) return 0;
  const second = chunk[at + 1] ?? 0;
  const size = second & LENGTH_BITS;
  const head =
    2 + (size === LENGTH_16 ? 2 : size === LENGTH_64 ? 8 : 0) + ((second & MASK_BIT) === 0 ? 0 : MASK_BYTES);
  return chunk.length - at < head ? 0 : head;
}

function bodyBytes(chunk: Buffer, at: number): number {
  const size = (chunk[at + 1] ?? 0) & LENGTH_BITS;
  if (size === LENGTH_16) return chunk.readUInt16BE(at + 2);
  // `ws` refuses what it can't count to.
  return size === LENGTH_64 ? Number(chunk.readBigUInt64BE(at + 2)) : size;
}
