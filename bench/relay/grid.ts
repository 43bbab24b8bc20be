/**
 * Twenty groups of calls, a millisecond apart: each call sends every 20 ms, and not all of them at once.
 *
 * @module
 */

const SLOTS = 20;
const FRAME_MS = 20;
/** Frames that are later than this are left out. */
const MAX_LATE_MS = 60;

export class Grid<T> {
  readonly #slots: Set<T>[] = Array.from({ length: SLOTS }, () => new Set<T>());
  readonly #due: number[] = [];
  readonly #send: (member: T) => void;
  readonly #tick: (now: number) => void;
  #next = 0;

  constructor(send: (member: T) => void, tick: (now: number) => void = () => {}) {
    this.#send = send;
    this.#tick = tick;
    const now = performance.now();
    for (let slot = 0; slot < SLOTS; slot += 1) this.#due.push(now + slot);
    const loop = () => {
      this.#run();
      setTimeout(loop, 1);
    };
    loop();
  }

  add(member: T): void {
    this.#slots[this.#next++ % SLOTS]?.add(member);
  }

  remove(member: T): void {
    for (const slot of this.#slots) slot.delete(member);
  }

  #run(): void {
    const now = performance.now();
    for (let slot = 0; slot < SLOTS; slot += 1) {
      let due = this.#due[slot] ?? 0;
      // A generator that stood still does not make up for it: what it would send at once is no call.
      if (now - due > MAX_LATE_MS) due = now - ((now - due) % FRAME_MS);
      while (due <= now) {
        for (const member of this.#slots[slot] ?? []) this.#send(member);
        due += FRAME_MS;
      }
      this.#due[slot] = due;
    }
    this.#tick(now);
  }
}
