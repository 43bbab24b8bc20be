/**
 * What the caller hears: received audio played at real speed, marks that come due, and the record of it.
 * Pure: it is told when, and how many milliseconds to play.
 *
 * @module
 */

/** µ-law at 8 kHz. */
export const BYTES_PER_MS = 8;
export const SILENCE = 0xff;
/** Audio that may wait to be played; ten minutes. */
export const MAX_QUEUED_BYTES = 600_000 * BYTES_PER_MS;

/** A stretch of sound without a gap. */
export interface HeardSegment {
  /** Ms since the stream started. */
  readonly startMs: number;
  readonly endMs: number;
  readonly audio: Uint8Array;
}

type Entry = { readonly audio: Uint8Array; at: number } | { readonly mark: string };

export class Playout {
  #queue: Entry[] = [];
  #queuedBytes = 0;
  #chunks: { startMs: number; audio: Uint8Array }[] = [];
  #endMs = 0;
  /** Marks that come due when the frame being played ends; `null` while nothing is played. */
  #playing: string[] | null = null;

  /** Audio received and not yet played, in ms. */
  get queuedMs(): number {
    return this.#queuedBytes / BYTES_PER_MS;
  }

  /** Marks not yet echoed. */
  get outstandingMarks(): string[] {
    const queued = this.#queue.flatMap((entry) => ('mark' in entry ? [entry.mark] : []));
    return [...(this.#playing ?? []), ...queued];
  }

  /** False when there is no room. */
  enqueue(audio: Uint8Array): boolean {
    if (this.#queuedBytes + audio.byteLength > MAX_QUEUED_BYTES) return false;
    this.#queue.push({ audio, at: 0 });
    this.#queuedBytes += audio.byteLength;
    return true;
  }

  /** Marks that are due at once because nothing is in front of them. */
  mark(name: string): string[] {
    this.#queue.push({ mark: name });
    if (this.#queue.length > 1) return [];
    if (this.#playing === null) return this.#leadingMarks();
    this.#playing.push(...this.#leadingMarks());
    return [];
  }

  /** Drops what is queued and returns every outstanding mark, in order. */
  clear(): string[] {
    const marks = this.outstandingMarks;
    this.#queue = [];
    this.#queuedBytes = 0;
    this.#playing = null;
    return marks;
  }

  /**
   * The frame before this one has been heard, and the next `ms` of what is queued begin to play.
   *
   * @param atMs - when, since the stream started
   * @returns the marks that came due with the frame before
   */
  play(atMs: number, ms: number): string[] {
    const due = this.#playing ?? [];
    const marks = this.#leadingMarks();
    let wanted = ms * BYTES_PER_MS;
    let startMs = atMs;
    this.#endMs = atMs + ms;
    const before = this.#chunks.length;
    while (wanted > 0) {
      const entry = this.#queue[0];
      if (entry === undefined || 'mark' in entry) break;
      const taken = entry.audio.subarray(entry.at, entry.at + wanted);
      this.#chunks.push({ startMs, audio: taken });
      startMs += taken.byteLength / BYTES_PER_MS;
      wanted -= taken.byteLength;
      entry.at += taken.byteLength;
      this.#queuedBytes -= taken.byteLength;
      if (entry.at === entry.audio.byteLength) this.#queue.shift();
      marks.push(...this.#leadingMarks());
    }
    if (this.#chunks.length > before) {
      this.#playing = marks;
      return due;
    }
    this.#playing = null;
    return [...due, ...marks];
  }

  /** Whether sound is being heard. */
  get isPlaying(): boolean {
    return this.#playing !== null;
  }

  /** Everything heard since the start, gaps as µ-law silence. */
  heard(): Uint8Array {
    const out = new Uint8Array(Math.round(this.#endMs * BYTES_PER_MS)).fill(SILENCE);
    for (const { startMs, audio } of this.#chunks) out.set(audio, Math.round(startMs * BYTES_PER_MS));
    return out;
  }

  /** Forgets what was heard so far; times go on. */
  forget(): void {
    this.#chunks = [];
  }

  /** What was heard, split where nothing was played for more than `gapMs`. */
  segments(gapMs = 0): HeardSegment[] {
    const groups: { startMs: number; endMs: number; chunks: { startMs: number; audio: Uint8Array }[] }[] = [];
    for (const chunk of this.#chunks) {
      const endMs = chunk.startMs + chunk.audio.byteLength / BYTES_PER_MS;
      const last = groups.at(-1);
      if (last && chunk.startMs - last.endMs <= gapMs + 1e-6) {
        last.chunks.push(chunk);
        last.endMs = endMs;
      } else {
        groups.push({ startMs: chunk.startMs, endMs, chunks: [chunk] });
      }
    }
    return groups.map(({ startMs, endMs, chunks }) => {
      const audio = new Uint8Array(Math.round((endMs - startMs) * BYTES_PER_MS)).fill(SILENCE);
      for (const chunk of chunks) {
        audio.set(chunk.audio, Math.round((chunk.startMs - startMs) * BYTES_PER_MS));
      }
      return { startMs, endMs, audio };
    });
  }

  #leadingMarks(): string[] {
    const due: string[] = [];
    for (let entry = this.#queue[0]; entry !== undefined && 'mark' in entry; entry = this.#queue[0]) {
      due.push(entry.mark);
      this.#queue.shift();
    }
    return due;
  }
}
