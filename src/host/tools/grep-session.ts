/**
 * The main thread's side of the grep worker: one per search, ended with it.
 *
 * @module
 */

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Clock, ClockTimer } from '../../clock.ts';
import type { GrepPattern, GrepQuery, GrepReply } from './grep-match.ts';

/** How long one search may take. */
export const GREP_TIMEOUT_MS = 10_000;

/** Searches at once; each has a thread. */
export const MAX_CONCURRENT_GREPS = 4;

let running = 0;

interface Waiter {
  resolve(reply: GrepReply): void;
  reject(error: unknown): void;
}

export class GrepSession {
  readonly #worker: Worker;
  readonly #timer: ClockTimer;
  readonly #signal: AbortSignal;
  #waiter: Waiter | null = null;
  #failure: unknown = null;
  #closed = false;

  /** @throws Error when too many searches run */
  constructor(pattern: GrepPattern, clock: Clock, signal: AbortSignal) {
    if (running >= MAX_CONCURRENT_GREPS) throw new Error('too many searches at once, try again in a moment');
    running += 1;
    this.#signal = signal;
    this.#worker = new Worker(new URL(`./grep-worker${extname(import.meta.url)}`, import.meta.url), {
      workerData: pattern,
      resourceLimits: { maxOldGenerationSizeMb: 128 },
    });
    this.#worker.on('message', (reply: GrepReply) => this.#take()?.resolve(reply));
    this.#worker.on('error', (error) => this.#fail(error));
    this.#worker.on('exit', () => this.#fail(new Error('the search ended early')));
    this.#timer = clock.setTimeout(() => {
      this.#fail(new Error(`the pattern took longer than ${GREP_TIMEOUT_MS / 1000} seconds`));
    }, GREP_TIMEOUT_MS);
    signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  /** Searches one text. One at a time. */
  match(query: GrepQuery): Promise<GrepReply> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    const reply = new Promise<GrepReply>((resolve, reject) => {
      this.#waiter = { resolve, reject };
    });
    this.#worker.postMessage(query);
    return reply;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer.clear();
    this.#signal.removeEventListener('abort', this.#onAbort);
    running -= 1;
    await this.#worker.terminate();
  }

  readonly #onAbort = () => this.#fail(new Error('The call was cancelled.'));

  #take(): Waiter | null {
    const waiter = this.#waiter;
    this.#waiter = null;
    return waiter;
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#take()?.reject(this.#failure);
  }
}
