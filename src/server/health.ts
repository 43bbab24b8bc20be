/**
 * Whether the process lives, and whether it should be sent calls.
 *
 * @module
 */

import type { Clock } from '../clock.ts';
import { withDeadline } from './deadline.ts';
import { READY_CACHE_MS, READY_CHECK_TIMEOUT_MS } from './limits.ts';

/** Resolves when the part works, rejects when it doesn't. */
export type ReadyCheck = () => Promise<void>;

export interface Readiness {
  readonly ready: boolean;
  readonly draining: boolean;
  readonly checks: Readonly<Record<string, 'ok' | 'failed'>>;
}

export class ReadyChecks {
  readonly #checks: Readonly<Record<string, ReadyCheck>>;
  readonly #clock: Clock;
  #last: { at: number; result: Promise<Record<string, 'ok' | 'failed'>> } | null = null;

  constructor(checks: Readonly<Record<string, ReadyCheck>>, clock: Clock) {
    this.#checks = checks;
    this.#clock = clock;
  }

  /** Asks every part, at most once a second however often it is called. */
  async run(draining: boolean): Promise<Readiness> {
    const now = this.#clock.now();
    if (!this.#last || now - this.#last.at >= READY_CACHE_MS)
      this.#last = { at: now, result: this.#runAll() };
    const checks = await this.#last.result;
    return { ready: !draining && Object.values(checks).every((each) => each === 'ok'), draining, checks };
  }

  async #runAll(): Promise<Record<string, 'ok' | 'failed'>> {
    const results = Object.entries(this.#checks).map(async ([name, check]) => {
      try {
        await withDeadline(this.#clock, READY_CHECK_TIMEOUT_MS, check(), () => new Error('too slow'));
        return [name, 'ok'] as const;
      } catch {
        return [name, 'failed'] as const;
      }
    });
    return Object.fromEntries(await Promise.all(results));
  }
}
