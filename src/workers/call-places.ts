/**
 * Which worker has which call, by the carrier's own id; and how many calls each has. The bound of all calls is here, once,
 * for all workers.
 *
 * @module
 */

/** Calls remembered, newest last; of an older one Twilio does not ask any more. */
export const MAX_PLACED_CALLS = 10_000;

export class CallPlaces {
  readonly #max: number;
  readonly #slots = new Map<string, number>();
  readonly #lines = new Map<number, number>();
  /** Calls that were sent to a worker and have not asked for their line yet. */
  readonly #onTheWay = new Map<number, number>();
  #taken = 0;

  /** @param max - calls at once, over all workers */
  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Lines that are taken. */
  get taken(): number {
    return this.#taken;
  }

  of(callSid: string): number | null {
    return this.#slots.get(callSid) ?? null;
  }

  put(callSid: string, slot: number): void {
    this.#slots.delete(callSid);
    this.#slots.set(callSid, slot);
    const [oldest] = this.#slots.keys();
    if (this.#slots.size > MAX_PLACED_CALLS && oldest !== undefined) this.#slots.delete(oldest);
  }

  /** A call is sent there. */
  expect(slot: number): void {
    this.#onTheWay.set(slot, (this.#onTheWay.get(slot) ?? 0) + 1);
  }

  /** What was sent and came to nothing is forgotten; asked for now and then. */
  settle(): void {
    this.#onTheWay.clear();
  }

  take(slot: number): boolean {
    const onTheWay = this.#onTheWay.get(slot) ?? 0;
    if (onTheWay > 0) this.#onTheWay.set(slot, onTheWay - 1);
    if (this.#taken >= this.#max) return false;
    this.#taken += 1;
    this.#lines.set(slot, this.lines(slot) + 1);
    return true;
  }

  release(slot: number): void {
    const lines = this.lines(slot);
    if (lines === 0) return;
    this.#lines.set(slot, lines - 1);
    this.#taken -= 1;
  }

  lines(slot: number): number {
    return this.#lines.get(slot) ?? 0;
  }

  /** The worker is gone, and every call with it. */
  free(slot: number): void {
    this.#taken -= this.lines(slot);
    this.#lines.delete(slot);
    this.#onTheWay.delete(slot);
    for (const [callSid, of] of this.#slots) if (of === slot) this.#slots.delete(callSid);
  }

  /** The one with the fewest calls. `null` when there is none to choose from. */
  freest(slots: readonly number[]): number | null {
    const load = (slot: number) => this.lines(slot) + (this.#onTheWay.get(slot) ?? 0);
    let best: number | null = null;
    for (const slot of slots) if (best === null || load(slot) < load(best)) best = slot;
    return best;
  }
}
