/**
 * When a caller who waits for a tool hears something. The model's own words come first: the wait counts from the end
 * of whatever was said last.
 *
 * Pure: time comes in as an argument.
 *
 * @module
 */

/** Between two fillers, in ms. */
export const FILLER_EVERY_MS = 10_000;
/** Between two fillers when the tool has something new to report. */
export const PROGRESS_EVERY_MS = 5000;
/** Characters of a tool's report that are spoken. */
export const MAX_PROGRESS_CHARS = 160;

export interface WaitingTool {
  readonly startedAt: number;
  /** What it reported last. */
  readonly progress: { readonly text: string; readonly at: number } | null;
}

export type Filler =
  /** The how-manieth filler in a row, from 0. */
  { readonly type: 'words'; readonly index: number } | { readonly type: 'progress'; readonly text: string };

export class Fillers {
  readonly #afterMs: number;
  #lastAt = 0;
  #busyAt = 0;
  #count = 0;

  constructor(afterMs: number) {
    this.#afterMs = afterMs;
  }

  /**
   * @param idle - nobody speaks and nothing is about to be said
   * @param waiting - the tools that the model waits for
   */
  tick(now: number, idle: boolean, waiting: readonly WaitingTool[]): Filler | null {
    if (!idle) this.#busyAt = now;
    if (waiting.length === 0) {
      this.#count = 0;
      return null;
    }
    if (!idle) return null;
    const startedAt = Math.min(...waiting.map((each) => each.startedAt));
    const since = Math.max(startedAt, this.#lastAt, this.#busyAt);
    const news = this.#news(waiting);
    const every = news === null ? FILLER_EVERY_MS : PROGRESS_EVERY_MS;
    if (now - since < (this.#count === 0 ? this.#afterMs : every)) return null;
    this.#lastAt = now;
    const index = this.#count++;
    return news === null ? { type: 'words', index } : { type: 'progress', text: news };
  }

  /** The newest report that the caller has not been told. */
  #news(waiting: readonly WaitingTool[]): string | null {
    let newest: WaitingTool['progress'] = null;
    for (const { progress } of waiting)
      if (progress && (this.#count === 0 || progress.at > this.#lastAt) && progress.at >= (newest?.at ?? 0))
        newest = progress;
    return newest?.text ?? null;
  }
}

/** A tool's report as it may be spoken: one line, bounded; empty when there is nothing to say. */
export function spokenProgress(text: string): string {
  const flat = text
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .trim()
    .slice(0, MAX_PROGRESS_CHARS);
  return /[\p{L}\p{N}]/u.test(flat) ? flat : '';
}
