/**
 * Messages as they go over the wire: whole where they are small, else in numbered parts. A data channel's message must
 * fit into one packet of a tunnel with 1,280 bytes, or it may stall there.
 *
 * Runs in browsers too.
 *
 * @module
 */

/** UTF-8 bytes of one wire message at most. */
export const MAX_WIRE_BYTES = 1100;
/** Parts of one message at most. */
export const MAX_PARTS = 64;
/** UTF-8 bytes of a whole message at most, on either side. */
export const MAX_MESSAGE_BYTES = 64_000;
/** Messages that may be incomplete at the same time; the oldest is given up. */
export const MAX_INCOMPLETE = 4;

const encoder = new TextEncoder();
const byteLength = (text: string): number => encoder.encode(text).length;

/** `{"part":[message, index, count],"data":"…"}`; the data of all parts joined is the message. */
interface Part {
  readonly part: readonly [number, number, number];
  readonly data: string;
}

/** Cuts messages. One for each connection: it numbers them. */
export class MessageSplitter {
  #next = 0;

  /**
   * @param message - JSON text of an object
   * @returns what to send, in this order
   * @throws RangeError when the message is over `MAX_MESSAGE_BYTES` or needs more than `MAX_PARTS`
   */
  split(message: string): string[] {
    const bytes = byteLength(message);
    if (bytes <= MAX_WIRE_BYTES) return [message];
    if (bytes > MAX_MESSAGE_BYTES) throw new RangeError(`A message of ${bytes} bytes is too long.`);
    const number = this.#next++;
    const slices = cut(message);
    if (slices.length > MAX_PARTS) throw new RangeError(`A message of ${slices.length} parts is too long.`);
    return slices.map((data, index) =>
      JSON.stringify({ part: [number, index, slices.length], data } satisfies Part),
    );
  }
}

/** Room for `{"part":[1234567,63,64],"data":""}`. */
const ENVELOPE_BYTES = 48;

/** Slices that, escaped as JSON strings, fit; no surrogate pair is cut in two. */
function cut(message: string): string[] {
  const slices: string[] = [];
  let slice = '';
  let size = 0;
  for (const char of message) {
    const bytes = byteLength(JSON.stringify(char)) - 2;
    if (size + bytes > MAX_WIRE_BYTES - ENVELOPE_BYTES) {
      slices.push(slice);
      slice = '';
      size = 0;
    }
    slice += char;
    size += bytes;
  }
  slices.push(slice);
  return slices;
}

interface Incomplete {
  readonly parts: (string | undefined)[];
  missing: number;
  bytes: number;
}

/** Puts messages together again. */
export class MessageJoiner {
  readonly #incomplete = new Map<number, Incomplete>();

  get incomplete(): number {
    return this.#incomplete.size;
  }

  /**
   * @param wire - one wire message
   * @returns the value of a whole message; `undefined` while parts are missing
   * @throws SyntaxError, RangeError for what is neither a message nor a part of one
   */
  join(wire: string): unknown {
    // A wire message that is over the bound is none of ours; a WebSocket's own bound is far above it.
    if (wire.length > MAX_MESSAGE_BYTES) throw new RangeError('The message is too long.');
    const value: unknown = JSON.parse(wire);
    if (!isPart(value)) return value;
    const [number, index, count] = value.part;
    let entry = this.#incomplete.get(number);
    if (!entry) {
      entry = { parts: Array.from({ length: count }), missing: count, bytes: 0 };
      this.#incomplete.set(number, entry);
      const [oldest] = this.#incomplete.keys();
      if (this.#incomplete.size > MAX_INCOMPLETE && oldest !== undefined) this.#incomplete.delete(oldest);
    }
    if (count !== entry.parts.length || entry.parts[index] !== undefined)
      throw new RangeError('Parts of a message do not fit together.');
    entry.parts[index] = value.data;
    entry.bytes += byteLength(value.data);
    entry.missing--;
    if (entry.bytes > MAX_MESSAGE_BYTES) {
      this.#incomplete.delete(number);
      throw new RangeError('The message is too long.');
    }
    if (entry.missing > 0) return undefined;
    this.#incomplete.delete(number);
    return JSON.parse(entry.parts.join(''));
  }
}

function isPart(value: unknown): value is Part {
  if (typeof value !== 'object' || value === null || !('part' in value)) return false;
  const { part } = value;
  const isNumbers = Array.isArray(part) && part.length === 3 && part.every((each) => Number.isInteger(each));
  if (!isNumbers || !('data' in value) || typeof value.data !== 'string')
    throw new RangeError('A part of a message is not as it should be.');
  const [number, index, count] = part as [number, number, number];
  if (number < 0 || count < 1 || count > MAX_PARTS || index < 0 || index >= count)
    throw new RangeError('A part of a message is not as it should be.');
  return true;
}
