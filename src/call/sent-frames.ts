/**
 * The last frames that left for the leg, while it is not certain that they were heard: to go on after a false alarm,
 * or on another leg.
 *
 * @module
 */

import type { PacedFrame } from '../audio/index.ts';
import { MARK_GRACE_MS } from './playback.ts';

/** Audio kept: longer than a leg's marks may be late before they are no longer believed. */
export const KEEP_SENT_MS = MARK_GRACE_MS + 1000;

/** Frames that there is room for at first; a leg that returns marks needs hardly more. */
const FIRST_FRAMES = 32;

/**
 * A ring in one piece of memory: what is kept for seconds, as an object a frame, grows old there and has to be collected
 * the expensive way.
 */
export class SentFrames {
  readonly #frameMs: number;
  readonly #frameBytes: number;
  readonly #maxFrames: number;
  #capacity = FIRST_FRAMES;
  #audio: Uint8Array;
  #itemIds: string[] = [];
  /** Where in its item each frame begins. */
  #starts: Float64Array;
  #lasts: Uint8Array;
  #first = 0;
  #count = 0;
  /** What `startOf` found, for `takeBack`. */
  readonly #startOf = new Map<string, number>();

  constructor(frameMs: number, frameBytes: number) {
    this.#frameMs = frameMs;
    this.#frameBytes = frameBytes;
    this.#maxFrames = Math.ceil(KEEP_SENT_MS / frameMs);
    this.#audio = new Uint8Array(FIRST_FRAMES * frameBytes);
    this.#starts = new Float64Array(FIRST_FRAMES);
    this.#lasts = new Uint8Array(FIRST_FRAMES);
  }

  get count(): number {
    return this.#count;
  }

  /** The next frame costs memory, or the oldest one. */
  get isFull(): boolean {
    return this.#count === this.#capacity;
  }

  add({ itemId, frame, last }: PacedFrame, startMs: number): void {
    if (this.isFull) {
      if (this.#capacity < this.#maxFrames) this.#grow();
      else this.keep(this.#count - 1);
    }
    const slot = this.#slot(this.#count);
    this.#audio.set(frame, slot * this.#frameBytes);
    this.#itemIds[slot] = itemId;
    this.#starts[slot] = startMs;
    this.#lasts[slot] = last ? 1 : 0;
    this.#count += 1;
  }

  /** Forgets all but the newest ones. */
  keep(newest: number): void {
    const gone = Math.max(0, this.#count - newest);
    this.#first = this.#slot(gone);
    this.#count -= gone;
  }

  /** The frames of an item that hold `fromMs` and what follows. */
  from(itemId: string, fromMs: number): Uint8Array[] {
    return this.#where((slot) => this.#holds(slot, itemId, fromMs)).map((slot) => this.#frame(slot));
  }

  /**
   * Where an item can be sent again from, so that what follows `heardMs` is in it; remembers it for `takeBack`.
   * Infinity when nothing of it is kept.
   */
  startOf(itemId: string, heardMs: number): number {
    const [slot] = this.#where((each) => this.#holds(each, itemId, heardMs));
    const start = slot === undefined ? Number.POSITIVE_INFINITY : (this.#starts[slot] ?? 0);
    this.#startOf.set(itemId, start);
    return start;
  }

  /** Takes out the frames that `startOf` pointed at, in the order in which they were sent. */
  takeBack(): PacedFrame[] {
    const frames = this.#where((slot) => {
      const from = this.#startOf.get(this.#itemIds[slot] ?? '');
      return from !== undefined && (this.#starts[slot] ?? 0) >= from;
    }).map((slot) => ({
      itemId: this.#itemIds[slot] ?? '',
      frame: this.#frame(slot),
      last: this.#lasts[slot] === 1,
    }));
    this.clear();
    return frames;
  }

  clear(): void {
    this.#count = 0;
    this.#first = 0;
    this.#itemIds = [];
    this.#startOf.clear();
  }

  #slot(index: number): number {
    return (this.#first + index) % this.#capacity;
  }

  #holds(slot: number, itemId: string, fromMs: number): boolean {
    return this.#itemIds[slot] === itemId && (this.#starts[slot] ?? 0) + this.#frameMs > fromMs;
  }

  /** A frame of its own: the ring goes on. */
  #frame(slot: number): Uint8Array {
    return this.#audio.slice(slot * this.#frameBytes, (slot + 1) * this.#frameBytes);
  }

  /** Slots that fit, oldest first. */
  #where(fits: (slot: number) => boolean): number[] {
    const slots: number[] = [];
    for (let index = 0; index < this.#count; index += 1) {
      const slot = this.#slot(index);
      if (fits(slot)) slots.push(slot);
    }
    return slots;
  }

  #grow(): void {
    const capacity = Math.min(this.#maxFrames, this.#capacity * 2);
    const audio = new Uint8Array(capacity * this.#frameBytes);
    const starts = new Float64Array(capacity);
    const lasts = new Uint8Array(capacity);
    const itemIds: string[] = [];
    for (let index = 0; index < this.#count; index += 1) {
      const slot = this.#slot(index);
      const from = slot * this.#frameBytes;
      audio.set(this.#audio.subarray(from, from + this.#frameBytes), index * this.#frameBytes);
      starts[index] = this.#starts[slot] ?? 0;
      lasts[index] = this.#lasts[slot] ?? 0;
      itemIds[index] = this.#itemIds[slot] ?? '';
    }
    this.#capacity = capacity;
    this.#audio = audio;
    this.#starts = starts;
    this.#lasts = lasts;
    this.#itemIds = itemIds;
    this.#first = 0;
  }
}
