/**
 * The playout clock of a page: what the call sends waits here and goes out 20 ms at a time, so that a clear drops all
 * that has not gone, and a mark comes back when the audio before it has been heard.
 *
 * Pure: times are arguments, in monotonic ms.
 *
 * @module
 */

import { FRAME_MS } from '../../audio/index.ts';

/** Audio that may wait; the call's pacer stays far below it. */
export const MAX_PLAYOUT_MS = 2000;
/** Marks that may wait for their audio. */
export const MAX_PLAYOUT_MARKS = 256;
/** A frame may go so much before its time, because ticks are 20 ms apart too. */
const EARLY_MS = FRAME_MS / 2;
/** A place that nothing fills is silence so much after its time. */
const LATE_MS = FRAME_MS;
/** Frames that are overdue by more were held up by this process; the clock goes on from now. */
const MAX_BEHIND_MS = 200;

export interface PlayoutOutput {
  /**
   * The next 20 ms; `null` while nothing is to be said.
   *
   * @param at - when it is due
   */
  frame(pcm: Uint8Array | null, at: number): void;
  /** A mark's audio was heard, as far as we can know. */
  played(mark: string): void;
  /** From the moment we send to the listener's ear, in ms. */
  readonly delayMs: number;
}

type Entry = { readonly pcm: Uint8Array } | { readonly mark: string };

export class Playout {
  readonly #output: PlayoutOutput;
  readonly #frameBytes: number;
  #queue: Entry[] = [];
  #frames = 0;
  #marks: { readonly name: string; readonly at: number }[] = [];
  #gain = 1;
  #gainBefore = 1;
  #nextAt: number | null = null;

  constructor(frameBytes: number, output: PlayoutOutput) {
    this.#frameBytes = frameBytes;
    this.#output = output;
  }

  get queuedMs(): number {
    return this.#frames * FRAME_MS;
  }

  /**
   * Whole frames of PCM16. Returns false when the bound refused them.
   *
   * @param audio - a multiple of the frame's length
   */
  push(audio: Uint8Array, now: number): boolean {
    const frames = Math.ceil(audio.byteLength / this.#frameBytes);
    if ((this.#frames + frames) * FRAME_MS > MAX_PLAYOUT_MS) return false;
    for (let at = 0; at < audio.byteLength; at += this.#frameBytes)
      this.#queue.push({ pcm: audio.subarray(at, at + this.#frameBytes) });
    this.#frames += frames;
    // What is due need not wait for the tick.
    if (this.#nextAt !== null) this.#drain(now);
    return true;
  }

  mark(name: string, now: number): void {
    if (this.#queue.length + this.#marks.length >= MAX_PLAYOUT_MARKS + MAX_PLAYOUT_MS / FRAME_MS) return;
    if (this.#frames === 0)
      this.#marks.push({ name, at: Math.max(now, this.#nextAt ?? now) + this.#output.delayMs });
    else this.#queue.push({ mark: name });
  }

  /** Drops what has not gone out; its marks and those on their way never come back. */
  clear(): void {
    this.#queue = [];
    this.#frames = 0;
    this.#marks = [];
  }

  /** 0 to 1; changes over 20 ms, without a click. */
  setGain(level: number): void {
    this.#gain = Math.min(1, Math.max(0, level));
  }

  /** Every 20 ms, while there is somebody to hear it. */
  tick(now: number): void {
    if (this.#nextAt === null || now - this.#nextAt > MAX_BEHIND_MS) this.#nextAt = now;
    this.#drain(now);
    while (this.#marks[0] && this.#marks[0].at <= now) {
      const mark = this.#marks.shift();
      if (mark) this.#output.played(mark.name);
    }
  }

  #drain(now: number): void {
    let at = this.#nextAt ?? now;
    for (;;) {
      const entry = this.#queue[0];
      if (entry && 'mark' in entry) this.#marks.push({ name: entry.mark, at: at + this.#output.delayMs });
      else {
        // Speech that is a little late still gets its place; only then it is silence's.
        if (at > (entry ? now + EARLY_MS : now - LATE_MS)) break;
        if (entry) this.#frames -= 1;
        this.#output.frame(entry ? this.#loud(entry.pcm) : null, at);
        at += FRAME_MS;
      }
      this.#queue.shift();
    }
    this.#nextAt = at;
  }

  #loud(pcm: Uint8Array): Uint8Array {
    const from = this.#gainBefore;
    const to = this.#gain;
    this.#gainBefore = to;
    if (from === 1 && to === 1) return pcm;
    const bytes = Uint8Array.from(pcm);
    const view = new DataView(bytes.buffer);
    const count = bytes.byteLength >> 1;
    for (let n = 0; n < count; n += 1) {
      const gain = from + ((to - from) * (n + 1)) / count;
      view.setInt16(n * 2, Math.round(view.getInt16(n * 2, true) * gain), true);
    }
    return bytes;
  }
}
