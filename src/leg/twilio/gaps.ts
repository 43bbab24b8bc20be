/**
 * Where silence is missing. Twilio leaves frames out (discontinuous transmission) or stops them altogether (a
 * call on hold); a model whose voice detection waits for silence would then wait for ever. Two witnesses: the
 * timestamps of the frames that do come, and the clock when none come. No timers here: time comes in.
 *
 * @module
 */

/** Length of one frame of silence. */
export const SILENCE_FRAME_MS = 20;
/** No frame for this long is a stall, and not the network's jitter. */
export const STALL_MS = 300;
/** While it lasts, silence is handed on in steps of this. */
export const STALL_STEP_MS = 100;
/** Most silence for one gap: more than the longest pause that ends a turn (`silenceDurationMs`, 10 s). */
export const MAX_GAP_FILL_MS = 12_000;

export class GapFiller {
  /** Stream time up to which audio was handed on, in the carrier's own milliseconds. */
  #positionMs: number | null = null;
  /** Clock time up to which audio was handed on. */
  #filledAtMs = 0;
  #stalled = false;
  #budgetMs = MAX_GAP_FILL_MS;

  /**
   * A frame arrived.
   *
   * @returns how many frames of silence belong before it
   */
  onMedia(timestampMs: number | null, durationMs: number, nowMs: number): number {
    const position = this.#positionMs;
    const start = timestampMs ?? position ?? 0;
    const missing = position === null ? 0 : framesIn(Math.min(start - position, this.#budgetMs));
    // A frame that comes late, after the clock has already put silence in its place, is speech all the same: it
    // is handed on, and the position waits until the frames have caught up with it.
    this.#positionMs = Math.max(position ?? 0, start + durationMs);
    this.#filledAtMs = nowMs;
    this.#stalled = false;
    this.#budgetMs = MAX_GAP_FILL_MS;
    return missing;
  }

  /**
   * The clock was looked at.
   *
   * @returns how many frames of silence are due, and when to look again at the earliest
   */
  onTick(nowMs: number): { frames: number; nextInMs: number } {
    if (this.#positionMs === null) return { frames: 0, nextInMs: STALL_MS };
    const idleMs = nowMs - this.#filledAtMs;
    if (!this.#stalled && idleMs < STALL_MS) return { frames: 0, nextInMs: STALL_MS - idleMs };
    this.#stalled = true;
    const frames = framesIn(Math.min(idleMs, this.#budgetMs));
    const filledMs = frames * SILENCE_FRAME_MS;
    this.#positionMs += filledMs;
    this.#filledAtMs += filledMs;
    this.#budgetMs -= filledMs;
    return { frames, nextInMs: this.#budgetMs < SILENCE_FRAME_MS ? STALL_MS : STALL_STEP_MS };
  }
}

function framesIn(ms: number): number {
  return Math.max(0, Math.floor(ms / SILENCE_FRAME_MS));
}
