/**
 * Follows what other processes change in the same store: woken where the engine can, and by looking now and then
 * everywhere.
 *
 * @module
 */

import type { Clock, ClockTimer } from '../clock.ts';
import { isVoiceError } from '../errors.ts';
import type { Logger } from '../observe/index.ts';
import type { ApprovalRow, ApprovalStore, ApprovalWatch } from '../store/index.ts';

/** How often it is looked, where nobody wakes us; one read of an index that gives nothing. */
export const FOLLOW_EVERY_MS = 1000;
/** How often it is looked all the same, where somebody does. */
export const FOLLOW_WATCHED_EVERY_MS = 5000;
/** Changes read at once. */
const BATCH = 200;

export interface ChangeFollowerOptions {
  readonly store: ApprovalStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Every change, of our own process's too. */
  readonly onChange: (record: ApprovalRow) => void;
}

export class ChangeFollower {
  readonly #options: ChangeFollowerOptions;
  #last = 0;
  #watch: ApprovalWatch | null = null;
  #timer: ClockTimer | null = null;
  #looking: Promise<void> | null = null;
  #isWanted = false;
  #closed = false;

  constructor(options: ChangeFollowerOptions) {
    this.#options = options;
  }

  /** From here on. @throws VoiceError `STORE_UNAVAILABLE` */
  async start(): Promise<void> {
    this.#last = await this.#options.store.lastApprovalChange();
    await this.#listen();
    this.#arm();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.clear();
    await this.#looking;
    await this.#watch?.close();
  }

  /** Looks now; asked for again while it looks, it looks once more. */
  look(): Promise<void> {
    this.#isWanted = true;
    this.#looking ??= this.#untilNobodyAsks().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #untilNobodyAsks(): Promise<void> {
    const { store, onChange, logger } = this.#options;
    try {
      while (this.#isWanted && !this.#closed) {
        this.#isWanted = false;
        const records = await store.listApprovalChanges(this.#last, BATCH);
        for (const record of records) {
          this.#last = record.changeNo;
          onChange(record);
        }
        if (records.length === BATCH) this.#isWanted = true;
      }
    } catch (error) {
      this.#isWanted = false;
      logger.warn({ code: isVoiceError(error) ? error.code : null }, 'other processes can not be followed');
    }
  }

  /** A watch that was lost is opened again with the next look. */
  async #listen(): Promise<void> {
    const { store, logger } = this.#options;
    if (!store.watchApprovals || this.#watch?.isOpen || this.#closed) return;
    try {
      await this.#watch?.close();
      this.#watch = await store.watchApprovals(() => void this.look());
      // Closed while it was opened.
      if (this.#closed) await this.#watch.close();
    } catch (error) {
      this.#watch = null;
      logger.warn({ code: isVoiceError(error) ? error.code : null }, 'the store can not be listened to');
    }
  }

  #arm(): void {
    if (this.#closed) return;
    const ms = this.#watch?.isOpen ? FOLLOW_WATCHED_EVERY_MS : FOLLOW_EVERY_MS;
    this.#timer = this.#options.clock.setTimeout(() => {
      void this.#listen()
        .then(() => this.look())
        .finally(() => this.#arm());
    }, ms);
  }
}
