/**
 * What a payload of the benchmark carries: the time it was sent, and its number, as base64 digits at its front, so that
 * they survive whatever passes 20 ms of µ-law on as it is.
 *
 * @module
 */

/** Base64 characters of 160 bytes. */
export const PAYLOAD_CHARS = 216;
const TIME_CHARS = 9;
const SEQUENCE_CHARS = 5;
export const STAMP_CHARS = TIME_CHARS + SEQUENCE_CHARS;

const DIGITS = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/');
const VALUES = new Uint8Array(256).fill(255);
for (let value = 0; value < DIGITS.length; value += 1) VALUES[DIGITS[value] ?? 0] = value;

/** Bytes of the payload behind the stamp: loud enough to be no silence. */
const REST = Buffer.alloc(160, 0x2a).toString('base64').slice(STAMP_CHARS);

/** A payload with room for the stamp. */
export const BLANK_PAYLOAD = 'A'.repeat(STAMP_CHARS) + REST;

export function writeStamp(buffer: Buffer, at: number, timeUs: number, sequence: number): void {
  write(buffer, at, TIME_CHARS, Math.round(timeUs));
  write(buffer, at + TIME_CHARS, SEQUENCE_CHARS, sequence);
}

function write(buffer: Buffer, at: number, chars: number, value: number): void {
  let rest = value;
  for (let i = chars - 1; i >= 0; i -= 1) {
    const high = Math.floor(rest / 64);
    buffer[at + i] = DIGITS[rest - high * 64] ?? 0;
    rest = high;
  }
}

/** `null` when there is no stamp. */
export function readStamp(buffer: Buffer, at: number): { timeUs: number; sequence: number } | null {
  const timeUs = read(buffer, at, TIME_CHARS);
  const sequence = read(buffer, at + TIME_CHARS, SEQUENCE_CHARS);
  return timeUs < 0 || sequence < 0 ? null : { timeUs, sequence };
}

function read(buffer: Buffer, at: number, chars: number): number {
  let value = 0;
  for (let i = 0; i < chars; i += 1) {
    const digit = VALUES[buffer[at + i] ?? 0] ?? 255;
    if (digit === 255) return -1;
    value = value * 64 + digit;
  }
  return value;
}

/** Latencies and losses of one direction, over all calls. */
export class Received {
  readonly #first = new Map<number, number>();
  readonly #last = new Map<number, number>();
  #count = 0;

  add(call: number, sequence: number): void {
    if (!this.#first.has(call)) this.#first.set(call, sequence);
    this.#last.set(call, sequence);
    this.#count += 1;
  }

  reset(): void {
    this.#first.clear();
    this.#last.clear();
    this.#count = 0;
  }

  /** Numbers between the first and the last of each call that never came. */
  get lost(): number {
    let expected = 0;
    for (const [call, first] of this.#first) expected += (this.#last.get(call) ?? first) - first + 1;
    return Math.max(0, expected - this.#count);
  }
}
