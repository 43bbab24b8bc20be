/**
 * Text messages of an open WebSocket, written as one buffer each. `ws` writes a message as two (its head and its body),
 * which is another system call, and a message is sent a hundred times a second and call. Reading, pings and the closing
 * handshake stay with `ws`; both write whole frames to the same socket, so they may take turns.
 *
 * What is sent in one turn of the event loop leaves in one write.
 * RFC 6455, section 5.2: https://datatracker.ietf.org/doc/html/rfc6455#section-5.2
 *
 * @module
 */

import { randomFillSync } from 'node:crypto';
import type { Duplex } from 'node:stream';

/** FIN and opcode 1. */
const FINAL_TEXT = 0x81;
const MASK_BIT = 0x80;
const MASK_BYTES = 4;
/** Masking keys that are drawn at once. */
const KEY_POOL_BYTES = 8192;

const keys = Buffer.alloc(KEY_POOL_BYTES);
let nextKey = KEY_POOL_BYTES;

/**
 * One whole frame. A client's are masked with a key of their own.
 *
 * @param isAscii - known to be: nobody has to count its bytes
 */
export function textFrame(text: string, masked: boolean, isAscii = false): Buffer {
  const length = isAscii ? text.length : Buffer.byteLength(text);
  const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
  const bodyAt = 2 + lengthBytes + (masked ? MASK_BYTES : 0);
  const frame = Buffer.allocUnsafe(bodyAt + length);
  frame[0] = FINAL_TEXT;
  frame[1] = (masked ? MASK_BIT : 0) | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
  if (lengthBytes === 2) frame.writeUInt16BE(length, 2);
  else if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2);
  // Nearly all of it is ASCII, which needs no encoder.
  frame.write(text, bodyAt, length === text.length ? 'latin1' : 'utf8');
  if (masked) mask(frame, bodyAt);
  return frame;
}

function mask(frame: Buffer, bodyAt: number): void {
  if (nextKey >= KEY_POOL_BYTES) {
    randomFillSync(keys);
    nextKey = 0;
  }
  const keyAt = bodyAt - MASK_BYTES;
  for (let i = 0; i < MASK_BYTES; i += 1) frame[keyAt + i] = keys[nextKey + i] ?? 0;
  nextKey += MASK_BYTES;
  applyMask(frame, bodyAt, frame.length);
}

/** Puts the key that stands in front of a body over it, or takes it off again. */
export function applyMask(frame: Buffer, bodyAt: number, end: number): void {
  const keyAt = bodyAt - MASK_BYTES;
  const a = frame[keyAt] ?? 0;
  const b = frame[keyAt + 1] ?? 0;
  const c = frame[keyAt + 2] ?? 0;
  const d = frame[keyAt + 3] ?? 0;
  const quads = end - ((end - bodyAt) % 4);
  let at = bodyAt;
  for (; at < quads; at += 4) {
    frame[at] = (frame[at] ?? 0) ^ a;
    frame[at + 1] = (frame[at + 1] ?? 0) ^ b;
    frame[at + 2] = (frame[at + 2] ?? 0) ^ c;
    frame[at + 3] = (frame[at + 3] ?? 0) ^ d;
  }
  for (let key = keyAt; at < end; at += 1, key += 1) frame[at] = (frame[at] ?? 0) ^ (frame[key] ?? 0);
}

/** Writers with something to write when this turn of the event loop is over, or what is being read has been read. */
let waiting: TextFrameWriter[] = [];
/** Readers at work: the first one that began hands over what waits when it is done. */
let held = 0;

/** From here to `releaseFrames`, in the same turn, nothing leaves by itself. They may be nested. */
export function holdFrames(): void {
  held += 1;
}

export function releaseFrames(): void {
  held -= 1;
  if (held === 0 && waiting.length > 0) flushAll();
}

function flushAll(): void {
  const writers = waiting;
  waiting = [];
  for (const writer of writers) writer.flush();
}

export class TextFrameWriter {
  readonly #socket: Duplex;
  readonly #masked: boolean;
  #first: Buffer | null = null;
  #others: Buffer[] = [];
  #bytes = 0;

  /** @param masked - as a client has to, and a server must not */
  constructor(socket: Duplex, masked: boolean) {
    this.#socket = socket;
    this.#masked = masked;
  }

  /** Bytes that are not with the socket yet. */
  get pendingBytes(): number {
    return this.#bytes;
  }

  /** @param isAscii - as for `textFrame` */
  send(text: string, isAscii = false): void {
    const frame = textFrame(text, this.#masked, isAscii);
    this.#bytes += frame.length;
    if (this.#first !== null) {
      this.#others.push(frame);
      return;
    }
    this.#first = frame;
    if (waiting.push(this) === 1 && held === 0) process.nextTick(flushAll);
  }

  /** Hands over what waits now: something that has to come behind it is about to be written. */
  flush(): void {
    const first = this.#first;
    if (first === null) return;
    const others = this.#others;
    this.#first = null;
    this.#bytes = 0;
    if (others.length > 0) this.#others = [];
    if (this.#socket.writable)
      this.#socket.write(others.length === 0 ? first : Buffer.concat([first, ...others]));
  }
}
