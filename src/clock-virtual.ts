/**
 * Virtual time: the same engine, as fast as the machine can go. Used by `demo --fast` and by every test.
 *
 * @module
 */

import { type Clock, type ClockTimer, realClock } from './clock.ts';

/** Real time that tracked work may take before a run gives up; a stuck worker must not hang a test for ever. */
export const TRACKED_STALL_LIMIT_MS = 60_000;
/** Event-loop turns spent on one instant before a run gives up on code that keeps itself busy. */
export const MAX_TURNS_PER_INSTANT = 10_000;
/** Cleared timers are swept out of the queue once there are this many and they are the majority. */
const SWEEP_THRESHOLD = 64;

export interface VirtualClockOptions {
  /** Wall-clock time at virtual 0, in ms since the epoch; the machine's time now when left out. */
  readonly wallStartMs?: number;
  /** @defaultValue {@link TRACKED_STALL_LIMIT_MS} */
  readonly trackedStallLimitMs?: number;
}

export interface RunLimit {
  /** Virtual ms after which the run stops by itself. */
  readonly limitMs: number;
}

class VirtualTimer implements ClockTimer {
  readonly at: number;
  readonly order: number;
  callback: (() => void) | null;
  readonly #onClear: () => void;

  constructor(at: number, order: number, callback: () => void, onClear: () => void) {
    this.at = at;
    this.order = order;
    this.callback = callback;
    this.#onClear = onClear;
  }

  clear(): void {
    if (this.callback === null) return;
    this.callback = null;
    this.#onClear();
  }
}

const isBefore = (a: VirtualTimer, b: VirtualTimer): boolean =>
  a.at < b.at || (a.at === b.at && a.order < b.order);

/**
 * A clock that moves only when told to. Timers fire in order of their time, then of their arming; between two
 * of them every microtask and every callback already waiting in the event loop runs, and time stands still
 * while tracked work is pending. Work that itself waits for this clock must therefore not be tracked.
 */
export class VirtualClock implements Clock {
  readonly kind = 'virtual';
  readonly #wallStartMs: number;
  readonly #stallLimitMs: number;
  #nowMs = 0;
  #armed = 0;
  #running = false;
  #activity = 0;
  /** Binary heap, earliest first; cleared timers stay until they surface or are swept. */
  #heap: VirtualTimer[] = [];
  #cleared = 0;
  #tracked = 0;
  #onTrackedIdle: (() => void) | null = null;

  constructor(options: VirtualClockOptions = {}) {
    this.#wallStartMs = options.wallStartMs ?? realClock.wallNow();
    this.#stallLimitMs = options.trackedStallLimitMs ?? TRACKED_STALL_LIMIT_MS;
  }

  now(): number {
    return this.#nowMs;
  }

  wallNow(): number {
    return this.#wallStartMs + this.#nowMs;
  }

  setTimeout(callback: () => void, delayMs: number): ClockTimer {
    this.#activity += 1;
    const at = this.#nowMs + Math.max(0, delayMs || 0);
    const timer = new VirtualTimer(at, this.#armed++, callback, () => {
      this.#cleared += 1;
      this.#sweep();
    });
    this.#push(timer);
    return timer;
  }

  track<T>(work: Promise<T>): Promise<T> {
    this.#activity += 1;
    this.#tracked += 1;
    return work.finally(() => {
      this.#activity += 1;
      this.#tracked -= 1;
      if (this.#tracked === 0) this.#onTrackedIdle?.();
    });
  }

  /** Timers armed and neither fired nor cleared; 0 after a call that freed all it held. */
  get pendingTimers(): number {
    return this.#heap.length - this.#cleared;
  }

  /** Tracked work that has not settled. */
  get pendingWork(): number {
    return this.#tracked;
  }

  /** Lets everything that can happen now happen, without moving time. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < MAX_TURNS_PER_INSTANT; turn += 1) {
      const before = this.#activity;
      await nextTurn();
      if (this.#tracked > 0) await this.#trackedIdle();
      else if (this.#activity === before) return;
    }
    throw new Error(
      `Virtual time is stuck at ${this.#nowMs} ms: something keeps arming work for this instant.`,
    );
  }

  /**
   * Moves time on by `ms`, firing everything due on the way.
   *
   * @throws what a timer's callback threw; time then stands where it threw
   */
  async advance(ms: number): Promise<void> {
    const target = this.#nowMs + ms;
    await this.#exclusive(async () => {
      await this.settle();
      while (await this.#step(target));
      this.#nowMs = target;
      await this.settle();
    });
  }

  /**
   * Moves time on from timer to timer until `until()` holds.
   *
   * @returns false when `limitMs` passed first, or when nothing is left that could make it true
   */
  async run(until: () => boolean, { limitMs }: RunLimit): Promise<boolean> {
    const target = this.#nowMs + limitMs;
    return this.#exclusive(async () => {
      await this.settle();
      while (!until()) {
        if (await this.#step(target)) continue;
        // Out of timers is the end of it; out of limit moves time to the limit, as `advance` would.
        if (this.pendingTimers > 0) this.#nowMs = target;
        return until();
      }
      return true;
    });
  }

  /** Runs until no timer is armed and no work is pending; false when `limitMs` passed first. */
  async runUntilIdle({ limitMs }: RunLimit = { limitMs: 3_600_000 }): Promise<boolean> {
    return this.run(() => this.pendingTimers === 0 && this.#tracked === 0, { limitMs });
  }

  async #exclusive<T>(body: () => Promise<T>): Promise<T> {
    if (this.#running) throw new Error('Virtual time is already being moved; await the other run first.');
    this.#running = true;
    try {
      return await body();
    } finally {
      this.#running = false;
    }
  }

  /** Fires the next timer due by `target` and settles; false when there is none. */
  async #step(target: number): Promise<boolean> {
    const timer = this.#pop(target);
    if (!timer) return false;
    this.#nowMs = Math.max(this.#nowMs, timer.at);
    const callback = timer.callback;
    timer.callback = null;
    callback?.();
    await this.settle();
    return true;
  }

  #trackedIdle(): Promise<void> {
    return new Promise((resolve, reject) => {
      // A ref-ed timer: the work may live in a worker that does not keep the process alive.
      const stall = realClock.setTimeout(() => {
        this.#onTrackedIdle = null;
        reject(new Error(`Tracked work did not settle within ${this.#stallLimitMs} real ms.`));
      }, this.#stallLimitMs);
      this.#onTrackedIdle = () => {
        this.#onTrackedIdle = null;
        stall.clear();
        resolve();
      };
    });
  }

  #push(timer: VirtualTimer): void {
    const heap = this.#heap;
    let index = heap.length;
    heap.push(timer);
    while (index > 0) {
      const parentIndex = (index - 1) >> 1;
      const parent = heap[parentIndex];
      if (parent === undefined || !isBefore(timer, parent)) break;
      heap[index] = parent;
      index = parentIndex;
    }
    heap[index] = timer;
  }

  /** Removes and returns the earliest live timer due by `target`. */
  #pop(target: number): VirtualTimer | null {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined) return null;
      if (top.callback !== null && top.at > target) return null;
      this.#removeTop();
      if (top.callback !== null) return top;
      this.#cleared -= 1;
    }
  }

  #removeTop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let index = 0;
    for (;;) {
      let childIndex = index * 2 + 1;
      let child = heap[childIndex];
      if (child === undefined) break;
      const right = heap[childIndex + 1];
      if (right !== undefined && isBefore(right, child)) {
        childIndex += 1;
        child = right;
      }
      if (!isBefore(child, last)) break;
      heap[index] = child;
      index = childIndex;
    }
    heap[index] = last;
  }

  /** A watchdog re-armed with every frame would otherwise fill the queue with cleared timers. */
  #sweep(): void {
    if (this.#cleared < SWEEP_THRESHOLD || this.#cleared * 2 < this.#heap.length) return;
    const live = this.#heap.filter((timer) => timer.callback !== null);
    this.#heap = [];
    this.#cleared = 0;
    for (const timer of live) this.#push(timer);
  }
}

/** One turn of the event loop: microtasks, waiting I/O and immediates queued before this one. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
