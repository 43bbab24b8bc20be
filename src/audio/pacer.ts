/**
 * The pacer: holds what is to be played and lets it go in whole frames, never further ahead of playout than the
 * leg allows, so that an interruption has little to take back and no carrier's buffer overflows.
 *
 * Pure but for the ticker at the end: one timer per clock serves every call, and none runs while nothing waits.
 *
 * @module
 */

import type { Clock, ClockTimer } from '../clock.ts';
import { type AudioData, type AudioFormat, bytesPerMs } from './format.ts';

/** Audio that may wait in one pacer; beyond it the oldest item's rest is refused. */
export const MAX_PACER_MS = 300_000;
export const FRAME_MS = 20;

interface Chunk {
  readonly bytes: Uint8Array;
  /** The same audio as it came, when it came so. */
  readonly audio: AudioData;
}

interface Entry {
  readonly itemId: string;
  chunks: Chunk[];
  bytes: number;
  ended: boolean;
}

export interface PacedFrame {
  readonly itemId: string;
  readonly frame: Uint8Array;
  /** The item's last frame. */
  readonly last: boolean;
}

export interface DueFrame extends PacedFrame {
  /** The frame as it came, when it came as one, and else the frame: what was not changed need not be written anew. */
  readonly audio: AudioData;
}

export class Pacer {
  readonly #format: AudioFormat;
  readonly #frameBytes: number;
  readonly #maxLeadMs: number;
  readonly #frameMs: number;
  readonly #silence: number;
  #entries: Entry[] = [];
  #queuedBytes = 0;
  /** When what was let go will have been played. */
  #playedOutAt = 0;

  constructor(options: { format: AudioFormat; frameBytes: number; maxLeadMs: number }) {
    this.#format = options.format;
    this.#frameBytes = options.frameBytes;
    this.#maxLeadMs = options.maxLeadMs;
    this.#frameMs = options.frameBytes / bytesPerMs(options.format);
    this.#silence = options.format.encoding === 'pcmu' ? 0xff : options.format.encoding === 'pcma' ? 0xd5 : 0;
  }

  get queuedMs(): number {
    return this.#queuedBytes / bytesPerMs(this.#format);
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0;
  }

  /**
   * Queues audio of an item behind everything queued before. Returns false when the bound refused it.
   *
   * @param audio - the same, as it came
   */
  push(itemId: string, bytes: Uint8Array, audio: AudioData = bytes): boolean {
    if (this.queuedMs >= MAX_PACER_MS) return false;
    const entry = this.#open(itemId);
    entry.chunks.push({ bytes, audio });
    entry.bytes += bytes.byteLength;
    this.#queuedBytes += bytes.byteLength;
    return true;
  }

  /**
   * `push` and `next` in one, without a queue, for what comes as one whole frame, may leave now, and has nothing before it.
   *
   * @returns `null` when it is not so, and nothing was done
   */
  pass(itemId: string, bytes: Uint8Array, audio: AudioData, now: number): DueFrame | null {
    if (bytes.byteLength !== this.#frameBytes || this.#queuedBytes > 0) return null;
    const startsAt = this.#startsAt(now);
    if (startsAt === null || this.#open(itemId) !== this.#entries[0]) return null;
    this.#playedOutAt = startsAt + this.#frameMs;
    return { itemId, frame: bytes, audio, last: false };
  }

  /** No more audio comes for this item: its last frame is padded with silence. */
  end(itemId: string): void {
    const entry = this.#entries.find((each) => each.itemId === itemId);
    if (!entry) return;
    entry.ended = true;
    if (entry.bytes === 0) this.#entries = this.#entries.filter((each) => each !== entry);
  }

  /** Lets the next frame go, if one may leave now. An item in the making that has run dry keeps its place only while first. */
  next(now: number): DueFrame | null {
    const entry = this.#entries[0];
    // One that waits for its next delta: items behind it must not overtake.
    if (!entry || (entry.bytes < this.#frameBytes && !entry.ended)) return null;
    const startsAt = this.#startsAt(now);
    if (startsAt === null) return null;
    const { bytes: frame, audio } = this.#take(entry);
    const last = entry.ended && entry.bytes === 0;
    if (last) this.#entries.shift();
    this.#playedOutAt = startsAt + this.#frameMs;
    return { itemId: entry.itemId, frame, audio, last };
  }

  /** Puts frames that were let go, and never played, in front again. Playout starts anew. */
  putBack(frames: readonly PacedFrame[]): void {
    for (const { itemId, frame, last } of [...frames].reverse()) {
      let entry = this.#entries[0];
      if (entry?.itemId !== itemId) {
        entry = { itemId, chunks: [], bytes: 0, ended: last };
        this.#entries.unshift(entry);
      }
      entry.chunks.unshift({ bytes: frame, audio: frame });
      entry.bytes += frame.byteLength;
      this.#queuedBytes += frame.byteLength;
    }
    this.#playedOutAt = 0;
  }

  /** Drops everything that waits and returns it, in order; forgets what was let go. */
  drain(): { itemId: string; chunks: readonly Uint8Array[] }[] {
    const entries = this.#entries;
    this.clear();
    return entries.map(({ itemId, chunks }) => ({ itemId, chunks: chunks.map(({ bytes }) => bytes) }));
  }

  /** Drops everything that waits, and forgets what was let go: the leg was cleared. */
  clear(): void {
    this.#entries = [];
    this.#queuedBytes = 0;
    this.#playedOutAt = 0;
  }

  /** When a frame that leaves now will be played; `null` when that is too far ahead. */
  #startsAt(now: number): number | null {
    const startsAt = Math.max(this.#playedOutAt, now);
    return startsAt - now + this.#frameMs > this.#maxLeadMs ? null : startsAt;
  }

  #open(itemId: string): Entry {
    const last = this.#entries.at(-1);
    if (last && last.itemId === itemId && !last.ended) return last;
    const known = this.#entries.find((each) => each.itemId === itemId && !each.ended);
    if (known) return known;
    const entry: Entry = { itemId, chunks: [], bytes: 0, ended: false };
    this.#entries.push(entry);
    return entry;
  }

  #take(entry: Entry): Chunk {
    const first = entry.chunks[0];
    if (first && first.bytes.byteLength >= this.#frameBytes) {
      entry.bytes -= this.#frameBytes;
      this.#queuedBytes -= this.#frameBytes;
      if (first.bytes.byteLength === this.#frameBytes) {
        entry.chunks.shift();
        return first;
      }
      entry.chunks[0] = whole(first.bytes.subarray(this.#frameBytes));
      return whole(first.bytes.subarray(0, this.#frameBytes));
    }
    const frame = new Uint8Array(this.#frameBytes);
    let filled = 0;
    while (filled < this.#frameBytes) {
      const chunk = entry.chunks[0]?.bytes;
      if (!chunk) break;
      const part = chunk.subarray(0, this.#frameBytes - filled);
      frame.set(part, filled);
      filled += part.byteLength;
      if (part.byteLength === chunk.byteLength) entry.chunks.shift();
      else entry.chunks[0] = whole(chunk.subarray(part.byteLength));
    }
    entry.bytes -= filled;
    this.#queuedBytes -= filled;
    frame.fill(this.#silence, filled);
    return whole(frame);
  }
}

const whole = (bytes: Uint8Array): Chunk => ({ bytes, audio: bytes });

/** Calls every subscriber each 20 ms, from one timer; stands still while there is none. */
export class FrameTicker {
  readonly #clock: Clock;
  readonly #subscribers = new Set<(now: number) => void>();
  #timer: ClockTimer | null = null;
  #nextAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get subscriberCount(): number {
    return this.#subscribers.size;
  }

  add(subscriber: (now: number) => void): void {
    this.#subscribers.add(subscriber);
    if (this.#timer) return;
    this.#nextAt = this.#clock.now() + FRAME_MS;
    this.#arm();
  }

  remove(subscriber: (now: number) => void): void {
    this.#subscribers.delete(subscriber);
    if (this.#subscribers.size > 0) return;
    this.#timer?.clear();
    this.#timer = null;
  }

  #arm(): void {
    this.#timer = this.#clock.setTimeout(() => {
      this.#timer = null;
      const now = this.#clock.now();
      for (const subscriber of [...this.#subscribers]) subscriber(now);
      if (this.#subscribers.size === 0) return;
      // Kept on the grid: lateness of one tick does not add up, and missed ticks are not made up for.
      this.#nextAt += FRAME_MS;
      if (this.#nextAt <= now) this.#nextAt = now + FRAME_MS - ((now - this.#nextAt) % FRAME_MS);
      this.#arm();
    }, this.#nextAt - this.#clock.now());
  }
}

const tickers = new WeakMap<Clock, FrameTicker>();

/** The one ticker of a clock. */
export function frameTicker(clock: Clock): FrameTicker {
  let ticker = tickers.get(clock);
  if (!ticker) {
    ticker = new FrameTicker(clock);
    tickers.set(clock, ticker);
  }
  return ticker;
}
