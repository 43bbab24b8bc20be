/** Calls of one session that may wait for their turn. */
export const MAX_WAITING_TOOL_CALLS = 64;

interface SessionLock {
  running: number;
  /** The running one must be alone. */
  alone: boolean;
  readonly waiting: Waiter[];
}

interface Waiter {
  readonly shared: boolean;
  start(): void;
}

/** Whether a call got its turn: `full` and `aborted` mean that it never will. */
export type Turn = 'go' | 'full' | 'aborted';

/**
 * Who may run beside whom in one session: tools that only look run together, any other runs alone, and each waits
 * its turn in the order of the calls. nanobot's runner batches a reply's calls the same way.
 */
export class ToolLock {
  readonly #sessions = new Map<string, SessionLock>();

  /** Sessions with calls under way. */
  get size(): number {
    return this.#sessions.size;
  }

  /** Waits for the turn of a call; whoever got `go` must `release` it. */
  acquire(sessionKey: string, shared: boolean, signal?: AbortSignal): Promise<Turn> {
    if (signal?.aborted) return Promise.resolve('aborted');
    const lock = this.#sessions.get(sessionKey) ?? { running: 0, alone: false, waiting: [] };
    this.#sessions.set(sessionKey, lock);
    if (lock.waiting.length === 0 && admits(lock, shared)) {
      enter(lock, shared);
      return Promise.resolve('go');
    }
    if (lock.waiting.length >= MAX_WAITING_TOOL_CALLS) return Promise.resolve('full');
    return new Promise((resolve) => {
      const onAbort = () => {
        lock.waiting.splice(lock.waiting.indexOf(waiter), 1);
        // The one behind may have waited for this one only.
        wake(lock);
        resolve('aborted');
      };
      const waiter: Waiter = {
        shared,
        start() {
          signal?.removeEventListener('abort', onAbort);
          enter(lock, shared);
          resolve('go');
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      lock.waiting.push(waiter);
    });
  }

  release(sessionKey: string): void {
    const lock = this.#sessions.get(sessionKey);
    if (!lock) return;
    lock.running -= 1;
    lock.alone = false;
    wake(lock);
    if (lock.running === 0) this.#sessions.delete(sessionKey);
  }
}

function admits(lock: SessionLock, shared: boolean): boolean {
  return lock.running === 0 || (shared && !lock.alone);
}

function enter(lock: SessionLock, shared: boolean): void {
  lock.running += 1;
  lock.alone = !shared;
}

function wake(lock: SessionLock): void {
  for (;;) {
    const next = lock.waiting[0];
    if (!next || !admits(lock, next.shared)) return;
    lock.waiting.shift();
    next.start();
  }
}
