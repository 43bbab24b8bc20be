/**
 * Takes deliveries from the outbox, one attempt at a time, and writes down what became of each. What nobody can tell
 * is asked about and never sent again by itself.
 *
 * @module
 */

import type { ClockTimer } from '../clock.ts';
import { isVoiceError } from '../errors.ts';
import type { ClaimedRow, ReplyRoute } from '../store/index.ts';
import { DeliveryAttempts, type DeliveryAttemptsOptions, isBoundToCall } from './delivery-attempts.ts';
import { LEASE_MS, MAX_DELIVERIES_AT_ONCE, TAKE_OVER_AFTER_MS } from './limits.ts';

/** How often the outbox is looked at while something may be about to come; and otherwise. */
export const ALERT_POLL_MS = 250;
export const IDLE_POLL_MS = 5000;
/** How long after a tool queued something. */
const ALERT_MS = 30_000;

/** How often what other nodes have left lying is looked for. */
export const TAKE_OVER_LOOK_MS = 15_000;

export interface OutboxWorkerOptions extends DeliveryAttemptsOptions {
  /** Names this worker in its leases. */
  readonly owner: string;
}

export class OutboxWorker {
  readonly #options: OutboxWorkerOptions;
  readonly #attempts: DeliveryAttempts;
  /** Routes by which what other nodes left lying can go as well from here. */
  readonly #routes: readonly ReplyRoute[];
  #tookOverAt = Number.NEGATIVE_INFINITY;
  readonly #stop = new AbortController();
  readonly #underWay = new Set<Promise<void>>();
  #timer: ClockTimer | null = null;
  #alertUntil = 0;
  #looking: Promise<void> | null = null;
  #again = false;

  constructor(options: OutboxWorkerOptions) {
    this.#options = options;
    this.#attempts = new DeliveryAttempts(options);
    this.#routes = options.routes.map(({ route }) => route).filter((route) => !isBoundToCall(route));
  }

  start(): void {
    this.#alertUntil = this.#options.clock.now() + ALERT_MS;
    this.poke();
  }

  /** Something is due, or will be in a moment. */
  poke(): void {
    if (this.#stop.signal.aborted) return;
    this.#alertUntil = this.#options.clock.now() + ALERT_MS;
    this.#again = true;
    this.#looking ??= this.#look();
  }

  /** Takes nothing more, and waits for what is under way within its own bounds. */
  async stop(): Promise<void> {
    this.#stop.abort();
    this.#timer?.clear();
    await this.#looking;
    await Promise.all(this.#underWay);
  }

  /** Resolves when nothing is under way; for tests. */
  async idle(): Promise<void> {
    while (this.#looking !== null || this.#underWay.size > 0) {
      await this.#looking;
      await Promise.all(this.#underWay);
    }
  }

  async #look(): Promise<void> {
    const { clock } = this.#options;
    while (this.#again && !this.#stop.signal.aborted) {
      this.#again = false;
      await clock.track(this.#claim());
    }
    this.#looking = null;
    this.#schedule();
  }

  #schedule(): void {
    const { clock } = this.#options;
    if (this.#stop.signal.aborted) return;
    this.#timer?.clear();
    const wait = clock.now() < this.#alertUntil ? ALERT_POLL_MS : IDLE_POLL_MS;
    this.#timer = clock.setTimeout(() => {
      this.#again = true;
      this.#looking ??= this.#look();
    }, wait);
  }

  async #claim(): Promise<void> {
    const { store, clock, owner, logger } = this.#options;
    const limit = MAX_DELIVERIES_AT_ONCE - this.#underWay.size;
    if (limit <= 0) return;
    let claimed: ClaimedRow[];
    try {
      const now = clock.wallNow();
      claimed = await store.claimOutbox({ owner, now, leaseMs: LEASE_MS, limit, ...this.#takeOver() });
    } catch (error) {
      logger.warn({ code: isVoiceError(error) ? error.code : null }, 'the outbox could not be read');
      return;
    }
    for (const each of claimed) {
      const work: Promise<void> = this.#attempts
        .deliver(each)
        .catch((error: unknown) => {
          // The row keeps its lease; whoever claims it next asks what became of it.
          logger.warn(
            { code: isVoiceError(error) ? error.code : null },
            'a delivery could not be written down',
          );
        })
        .finally(() => {
          this.#underWay.delete(work);
          // The next segment of the reply, or one there was no room for.
          if (!this.#stop.signal.aborted) {
            this.#again = true;
            this.#looking ??= this.#look();
          }
        });
      this.#underWay.add(work);
    }
  }

  /** Not at every look: nobody has hurry with what lies for minutes. */
  #takeOver() {
    const now = this.#options.clock.now();
    if (this.#routes.length === 0 || now - this.#tookOverAt < TAKE_OVER_LOOK_MS) return {};
    this.#tookOverAt = now;
    return { takeOver: { routes: this.#routes, afterMs: TAKE_OVER_AFTER_MS } };
  }
}
