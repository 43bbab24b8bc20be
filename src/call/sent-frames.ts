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

interface SentFrame extends PacedFrame {
  /** Where in its item it begins. */
  readonly startMs: number;
}

export class SentFrames {
  readonly #frameMs: number;
  #frames: SentFrame[] = [];
  /** What `startOf` found, for `takeBack`. */
  readonly #startOf = new Map<string, number>();

  constructor(frameMs: number) {
    this.#frameMs = frameMs;
  }

  get count(): number {
    return this.#frames.length;
  }

  add({ itemId, frame, last }: PacedFrame, startMs: number): void {
    this.#frames.push({ itemId, frame, last, startMs });
    if (this.#frames.length * this.#frameMs > KEEP_SENT_MS) this.#frames.shift();
  }

  /** The frames of an item that hold `fromMs` and what follows. */
  from(itemId: string, fromMs: number): Uint8Array[] {
    return this.#of(itemId, fromMs).map((each) => each.frame);
  }

  /**
   * Where an item can be sent again from, so that what follows `heardMs` is in it; remembers it for `takeBack`.
   * Infinity when nothing of it is kept.
   */
  startOf(itemId: string, heardMs: number): number {
    const start = this.#of(itemId, heardMs)[0]?.startMs ?? Number.POSITIVE_INFINITY;
    this.#startOf.set(itemId, start);
    return start;
  }

  /** Takes out the frames that `startOf` pointed at, in the order in which they were sent. */
  takeBack(): PacedFrame[] {
    const frames = this.#frames.filter(({ itemId, startMs }) => {
      const from = this.#startOf.get(itemId);
      return from !== undefined && startMs >= from;
    });
    this.clear();
    return frames;
  }

  clear(): void {
    this.#frames = [];
    this.#startOf.clear();
  }

  #of(itemId: string, fromMs: number): SentFrame[] {
    return this.#frames.filter((each) => each.itemId === itemId && each.startMs + this.#frameMs > fromMs);
  }
}
