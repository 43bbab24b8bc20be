/**
 * Marks that were sent and have not come back: a ring of numbers. As an object each, they would live for the fifth of a
 * second that lets them grow old, and be collected the expensive way.
 *
 * @module
 */

/** Marks that may be out at once; beyond it no more are set. */
export const MAX_OUTSTANDING_MARKS = 64;

export class OutstandingMarks {
  /** Made with the first mark. */
  #positions: Float64Array | null = null;
  #dueAts: Float64Array | null = null;
  /** Numbers of the oldest that is out, and of the newest there ever was. */
  #first = 1;
  #newest = 0;

  get count(): number {
    return this.#newest - this.#first + 1;
  }

  /** Stream position of the oldest one that is out, in ms. */
  get nextPosition(): number {
    return this.#positions?.[this.#first % MAX_OUTSTANDING_MARKS] ?? 0;
  }

  /** When the clock expects the oldest one back. */
  get nextDueAt(): number {
    return this.#dueAts?.[this.#first % MAX_OUTSTANDING_MARKS] ?? 0;
  }

  /** Returns the new one's name; `null` when too many are out. */
  add(position: number, dueAt: number): string | null {
    if (this.count >= MAX_OUTSTANDING_MARKS) return null;
    this.#positions ??= new Float64Array(MAX_OUTSTANDING_MARKS);
    this.#dueAts ??= new Float64Array(MAX_OUTSTANDING_MARKS);
    this.#newest += 1;
    this.#positions[this.#newest % MAX_OUTSTANDING_MARKS] = position;
    this.#dueAts[this.#newest % MAX_OUTSTANDING_MARKS] = dueAt;
    return `m${this.#newest}`;
  }

  /** Takes out this one and those before it. Returns its position; `null` when it is not out. */
  take(name: string): number | null {
    const number = Number(name.slice(1));
    if (name !== `m${number}` || !(number >= this.#first && number <= this.#newest)) return null;
    this.#first = number + 1;
    return this.#positions?.[number % MAX_OUTSTANDING_MARKS] ?? null;
  }

  clear(): void {
    this.#first = this.#newest + 1;
  }
}
