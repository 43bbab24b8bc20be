import { type Clock, delay } from '../../clock.ts';
import type { OutboundMessage } from '../bus/index.ts';
import type { Channel } from './channel.ts';

/** Waits before a failed message is sent again; the last one counts for every further try. */
export const SEND_RETRY_DELAYS_MS: readonly number[] = [1000, 2000, 4000];
/** Messages that may wait for one channel; the next one is lost. */
export const MAX_CHANNEL_BACKLOG = 200;

export type DeliveryOutcome = 'sent' | 'failed' | 'full';

/** Sends a channel's messages one after the other, so that a slow channel delays nobody but itself. */
export class Delivery {
  readonly #channel: Channel;
  readonly #clock: Clock;
  readonly #maxRetries: number;
  readonly #onOutcome: (outcome: DeliveryOutcome, error?: unknown) => void;
  readonly #waiting: OutboundMessage[] = [];
  readonly #stopping = new AbortController();
  #working: Promise<void> | null = null;

  constructor(options: {
    channel: Channel;
    clock: Clock;
    maxRetries: number;
    onOutcome: (outcome: DeliveryOutcome, error?: unknown) => void;
  }) {
    this.#channel = options.channel;
    this.#clock = options.clock;
    this.#maxRetries = options.maxRetries;
    this.#onOutcome = options.onOutcome;
  }

  push(message: OutboundMessage): void {
    if (this.#waiting.length >= MAX_CHANNEL_BACKLOG) {
      this.#onOutcome('full');
      return;
    }
    this.#waiting.push(message);
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
    });
  }

  /** Gives up what waits; the message that is being sent may finish. */
  stop(): void {
    this.#waiting.length = 0;
    this.#stopping.abort();
  }

  async #work(): Promise<void> {
    for (;;) {
      const message = this.#waiting.shift();
      if (message === undefined || this.#stopping.signal.aborted) return;
      await this.#deliver(message);
    }
  }

  async #deliver(message: OutboundMessage): Promise<void> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        await this.#channel.send(message);
        this.#onOutcome('sent');
        return;
      } catch (error) {
        const wait = SEND_RETRY_DELAYS_MS[Math.min(attempt, SEND_RETRY_DELAYS_MS.length - 1)] ?? 0;
        const again = attempt < this.#maxRetries && (await delay(this.#clock, wait, this.#stopping.signal));
        if (again) continue;
        this.#onOutcome('failed', error);
        return;
      }
    }
  }
}
