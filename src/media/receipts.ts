/**
 * What a messaging provider says later about a message that it had accepted: it arrived, or it never will.
 *
 * @module
 */

import { type Clock, delay } from '../clock.ts';
import type { Logger } from '../observe/index.ts';
import type { DeliveryReceipt, MediaStore } from '../store/index.ts';
import { deliveryAudit } from './audit.ts';
import { RECEIPT_RETRY_MS, RECEIPT_TRIES } from './limits.ts';
import { nextTarget } from './targets.ts';

/** Twilio's statuses that are a last word; `sent` and `queued` only say that it is on its way. */
const LAST_WORDS: ReadonlyMap<string, DeliveryReceipt> = new Map([
  ['delivered', 'delivered'],
  ['read', 'delivered'],
  ['failed', 'failed'],
  ['undelivered', 'failed'],
  ['canceled', 'failed'],
]);

export interface ReceiptsOptions {
  readonly store: MediaStore;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Something is to be sent by another way. */
  readonly onDue: () => void;
}

export class Receipts {
  readonly #options: ReceiptsOptions;

  constructor(options: ReceiptsOptions) {
    this.#options = options;
  }

  /**
   * Writes down a verified report. Reports come late, twice and out of order: the first last word about the newest
   * message of a delivery counts, and nothing else does anything.
   *
   * @param providerRef - the provider's id of the message
   * @throws VoiceError `STORE_*`
   */
  async report(deliveryId: string, providerRef: string, status: string): Promise<void> {
    const receipt = LAST_WORDS.get(status);
    if (receipt === undefined || providerRef === '') return;
    const { clock } = this.#options;
    for (let tries = 0; tries < RECEIPT_TRIES; tries += 1) {
      // The provider may be faster than our own disk.
      if (tries > 0) await delay(clock, RECEIPT_RETRY_MS);
      if ((await clock.track(this.#record(deliveryId, providerRef, receipt))) !== 'early') return;
    }
  }

  async #record(deliveryId: string, providerRef: string, receipt: DeliveryReceipt) {
    const { store, clock, logger, onDue } = this.#options;
    const row = await store.getOutbox(deliveryId);
    if (!row) return 'none';
    const now = clock.wallNow();
    const call = receipt === 'failed' ? await store.getCallMedia(row.event.callId) : null;
    const next = call ? nextTarget(call, row.deliveredBy ?? row.attemptRoute ?? row.target.route) : null;
    // After the end of its time nothing is sent any more.
    const way = row.expiresAt > now ? (next?.route ?? null) : null;
    const type = receipt === 'failed' && way === null ? 'delivery.dead_lettered' : 'delivery.reconciled';
    const audit = deliveryAudit(type, row, now, receipt === 'delivered' ? 'delivered' : 'undelivered');
    const outcome = await store.recordReceipt(deliveryId, providerRef, receipt, way, now, audit);
    if (outcome === 'recorded') {
      const { callId, turn } = row.event;
      logger.info({ callId, turn, segment: row.segment, receipt }, 'media delivery');
      if (way !== null) onDue();
    }
    return outcome;
  }
}
