/**
 * The clock of a test: `VirtualClock` with a fixed date and waits that fail loudly.
 *
 * @module
 */

import { VirtualClock, type VirtualClockOptions } from '../clock-virtual.ts';

/** Wall-clock time at virtual 0 unless a test says otherwise: Thursday 15 January 2026, 10:00 UTC. */
export const FAKE_CLOCK_START_MS = Date.UTC(2026, 0, 15, 10, 0, 0);

export class FakeClock extends VirtualClock {
  constructor(options: VirtualClockOptions = {}) {
    super({ wallStartMs: FAKE_CLOCK_START_MS, ...options });
  }

  /**
   * Moves time on until `condition()` holds.
   *
   * @param what - completes the sentence "waited for …" of the error
   * @throws Error when it does not hold within `limitMs` of virtual time
   */
  async waitFor(what: string, condition: () => boolean, limitMs = 60_000): Promise<void> {
    const startedAt = this.now();
    if (await this.run(condition, { limitMs })) return;
    throw new Error(
      `Waited for ${what}: not within ${this.now() - startedAt} virtual ms ` +
        `(${this.pendingTimers} timers and ${this.pendingWork} works pending).`,
    );
  }

  /** Runs `body` while time moves on by itself, and gives back what it resolves to. */
  async drive<T>(body: Promise<T>, limitMs = 600_000): Promise<T> {
    let settled = false;
    const watched = body.finally(() => {
      settled = true;
    });
    // `watched` is awaited below; this keeps an early rejection from being reported as unhandled meanwhile.
    watched.catch(() => {});
    await this.waitFor('the driven work to settle', () => settled, limitMs);
    return watched;
  }
}
