/**
 * WebSocket frames, as little of them as the two ends of the benchmark need: the ends shall cost less than what stands
 * between them.
 *
 * @module
 */

import { createHash } from 'node:crypto';

export const OPCODE = { text: 1, close: 8, ping: 9, pong: 10 } as const;

const ACCEPT_GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

export const acceptKey = (key: string): string =>
  createHash('sha1')
    .update(key + ACCEPT_GUID)
    .digest('base64');

/**
 * One whole frame. A client has to mask; with a key of zeros the bytes stay what they are, and the server has to take
 * the mask off all the same.
 */
export function frame(payload: string | Buffer, masked: boolean, opcode: number = OPCODE.text): Buffer {
  const body = typeof payload === 'string' ? Buffer.from(payload) : payload;
  const wide = body.byteLength >= 126;
  const head = (wide ? 4 : 2) + (masked ? 4 : 0);
  const whole = Buffer.alloc(head + body.byteLength);
  whole[0] = 0x80 | opcode;
  const flag = masked ? 0x80 : 0;
  if (body.byteLength > 0xffff) throw new Error('Frames of the benchmark are short.');
  if (wide) {
    whole[1] = flag | 126;
    whole.writeUInt16BE(body.byteLength, 2);
  } else whole[1] = flag | body.byteLength;
  body.copy(whole, head);
  return whole;
}

/** Cuts a byte stream into frames and takes masks off. */
export class FrameReader {
  readonly #onFrame: (opcode: number, payload: Buffer) => void;
  #rest: Buffer | null = null;

  constructor(onFrame: (opcode: number, payload: Buffer) => void) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    const data = this.#rest ? Buffer.concat([this.#rest, chunk]) : chunk;
    this.#rest = null;
    let at = 0;
    while (data.length - at >= 2) {
      const second = data[at + 1] ?? 0;
      let length = second & 0x7f;
      let head = 2;
      if (length === 126) {
        if (data.length - at < 4) break;
        length = data.readUInt16BE(at + 2);
        head = 4;
      } else if (length === 127) {
        if (data.length - at < 10) break;
        length = Number(data.readBigUInt64BE(at + 2));
        head = 10;
      }
      const masked = (second & 0x80) !== 0;
      const start = at + head + (masked ? 4 : 0);
      if (data.length < start + length) break;
      const payload = data.subarray(start, start + length);
      if (masked) unmask(payload, data.subarray(start - 4, start));
      this.#onFrame((data[at] ?? 0) & 0x0f, payload);
      at = start + length;
    }
    if (at < data.length) this.#rest = data.subarray(at);
  }
}

function unmask(payload: Buffer, key: Buffer): void {
  const [a = 0, b = 0, c = 0, d = 0] = key;
  if ((a | b | c | d) === 0) return;
  const keys = [a, b, c, d];
  for (let i = 0; i < payload.length; i += 1) payload[i] = (payload[i] ?? 0) ^ (keys[i & 3] ?? 0);
}
