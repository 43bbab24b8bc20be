/**
 * Time as a dependency. Everything that waits takes a `Clock`; nothing in `src/` calls `setTimeout` or
 * `Date.now()` itself, so that a call can run on virtual time and a test never sleeps.
 *
 * @module
 */

/** An armed timer. `clear()` is idempotent and may be called after it fired. */
export interface ClockTimer {
  clear(): void;
}

export interface Clock {
  readonly kind: 'real' | 'virtual';
  /** Monotonic milliseconds since an arbitrary start; the base of every duration. */
  now(): number;
  /** Wall-clock milliseconds since the Unix epoch; only for stamps that people read. */
  wallNow(): number;
  /** Runs `callback` once after `delayMs` (values below 0 count as 0). */
  setTimeout(callback: () => void, delayMs: number): ClockTimer;
  /**
   * Says that real work (a worker, a disk, a socket) is under way. On the real clock this is the promise
   * itself; virtual time stands still until it settles.
   */
  track<T>(work: Promise<T>): Promise<T>;
}

/** The machine's clock. Timers are `unref`-ed only where a caller asks for it by clearing them. */
export const realClock: Clock = {
  kind: 'real',
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimeout(callback, delayMs) {
    const timer = setTimeout(callback, Math.max(0, delayMs));
    return { clear: () => clearTimeout(timer) };
  },
  track: (work) => work,
};

/** Resolves after `delayMs` of `clock`, or at once with `false` when `signal` aborts first. */
export function delay(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    if (signal?.aborted) {
      resolve(false);
      return;
    }
    const onAbort = () => {
      timer.clear();
      resolve(false);
    };
    const timer = clock.setTimeout(() => {
      signal?.removeEventListener('abort', onAbort);
      resolve(true);
    }, delayMs);
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}
