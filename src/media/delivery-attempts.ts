/**
 * One attempt at one delivery: by its route, or the next one when that failed for good, and what is written down of it.
 *
 * @module
 */

import type { Clock } from '../clock.ts';
import { isVoiceError } from '../errors.ts';
import type { Logger } from '../observe/index.ts';
import type {
  ClaimedRow,
  DeliveryErrorClass,
  MediaStore,
  OutboxChange,
  OutboxRow,
  ReplyRoute,
} from '../store/index.ts';
import type { Attachments } from './attachments.ts';
import { deliveryAudit } from './audit.ts';
import {
  BACKOFF_BASE_MS,
  BACKOFF_MAX_MS,
  LEASE_MS,
  MAX_DELIVERY_ATTEMPTS,
  SEND_TIMEOUT_MS,
} from './limits.ts';
import type { Delivery, DeliveryRoute, SendOutcome } from './routes/contract.ts';
import { nextTarget } from './targets.ts';

/** Points in an attempt; for tests that kill the process there. */
export type DeliveryStep = 'claimed' | 'sending' | 'sent' | 'settled';

export interface DeliveryAttemptsOptions {
  readonly store: MediaStore;
  readonly attachments: Attachments;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly routes: readonly DeliveryRoute[];
  /** Told of what was sent; must not throw. */
  readonly onSent?: (row: OutboxRow, by: ReplyRoute) => void;
  /** 0 to 1, for the jitter. */
  readonly random: () => number;
  readonly onStep?: (step: DeliveryStep) => void;
}

/** Whether only the node that has the call can go this way. */
export function isBoundToCall(route: ReplyRoute): boolean {
  return route === 'page' || route === 'spoken';
}

export class DeliveryAttempts {
  readonly #options: DeliveryAttemptsOptions;
  readonly #routes: ReadonlyMap<ReplyRoute, DeliveryRoute>;

  constructor(options: DeliveryAttemptsOptions) {
    this.#options = options;
    this.#routes = new Map(options.routes.map((route) => [route.route, route]));
  }

  /** One attempt, or one question about an attempt, and what came of it. @throws VoiceError `STORE_*` */
  async deliver({ row, reconcile, isForeign }: ClaimedRow): Promise<void> {
    this.#options.onStep?.('claimed');
    const name = row.attemptRoute ?? row.target.route;
    const address = await this.#addressOf(row, name);
    if (reconcile) await this.#reconcile(row, name, address);
    else await this.#attempt(row, name, address, isForeign);
  }

  async #attempt(
    row: OutboxRow,
    name: ReplyRoute,
    address: string | null,
    isForeign: boolean,
  ): Promise<void> {
    const route = this.#routes.get(name);
    this.#options.onStep?.('sending');
    const outcome: SendOutcome =
      route && address !== null
        ? await this.#bounded((signal) => route.send(this.#delivery(row, address), signal))
        : { kind: 'failed', error: 'unavailable', permanent: true };
    this.#options.onStep?.('sent');
    switch (outcome.kind) {
      case 'accepted':
        await this.#change(row, { status: 'sent', by: name, providerRef: outcome.providerRef ?? null }, name);
        break;
      case 'unknown':
        await this.#unknown(row);
        break;
      case 'failed':
        if (isForeign && outcome.error === 'attachment_missing') await this.#giveBack(row, outcome.error);
        else await this.#failed(row, name, outcome, isForeign);
        break;
      default:
        outcome satisfies never;
    }
    this.#options.onStep?.('settled');
  }

  async #failed(
    row: OutboxRow,
    name: ReplyRoute,
    outcome: Extract<SendOutcome, { kind: 'failed' }>,
    isForeign: boolean,
  ): Promise<void> {
    const { clock } = this.#options;
    const { error, uncounted = false, retryAfterMs } = outcome;
    const isLast = outcome.permanent || (!uncounted && row.attempts >= MAX_DELIVERY_ATTEMPTS);
    if (!isLast) {
      const wait = retryAfterMs ?? this.#backoff(row.attempts);
      const availableAt = clock.wallNow() + wait;
      await this.#change(row, { status: 'retryable', error, availableAt, uncounted }, error);
      return;
    }
    const next = await this.#next(row, name, error);
    if (next === null) {
      await this.#change(row, { status: 'dead_letter', error }, error);
      return;
    }
    if (isForeign && isBoundToCall(next.route)) {
      await this.#giveBack(row, error, next.route);
      return;
    }
    // Written before it is tried: after a crash the right route is asked.
    const leaseUntil = clock.wallNow() + LEASE_MS;
    const goesOn = await clock.track(
      this.#options.store.changeOutbox(
        row.deliveryId,
        row.fence,
        { status: 'sending', route: next.route, leaseUntil },
        clock.wallNow(),
      ),
    );
    if (goesOn) await this.#attempt(row, next.route, next.address, isForeign);
  }

  /** For the node that has the bytes, or the call. */
  async #giveBack(row: OutboxRow, error: DeliveryErrorClass, route?: ReplyRoute): Promise<void> {
    const availableAt = this.#options.clock.wallNow();
    const change = { status: 'retryable', error, availableAt, uncounted: true } as const;
    await this.#change(row, { ...change, ...(route !== undefined && { route }) }, error);
  }

  /** What is left when a route failed for good: the next one of the call; without the bytes, only words. */
  async #next(row: OutboxRow, name: ReplyRoute, error: DeliveryErrorClass) {
    if (name === 'spoken') return null;
    if (error === 'attachment_missing') return { route: 'spoken', address: row.event.callId } as const;
    const call = await this.#options.clock.track(this.#options.store.getCallMedia(row.event.callId));
    return call ? nextTarget(call, name) : null;
  }

  async #reconcile(row: OutboxRow, name: ReplyRoute, address: string | null): Promise<void> {
    const { clock } = this.#options;
    const route = this.#routes.get(name);
    const outcome =
      route && address !== null
        ? await this.#bounded((signal) => route.reconcile(this.#delivery(row, address), signal))
        : 'unknown';
    switch (outcome) {
      case 'accepted':
        await this.#change(row, { status: 'sent', by: name, providerRef: null }, 'accepted', true);
        break;
      case 'rejected': {
        const availableAt = clock.wallNow() + this.#backoff(row.attempts);
        const change = { status: 'retryable', error: 'provider_error', availableAt } as const;
        await this.#change(row, change, 'rejected', true);
        break;
      }
      default:
        // A thrown error is no answer either.
        await this.#unknown(row);
    }
  }

  async #addressOf(row: OutboxRow, name: ReplyRoute): Promise<string | null> {
    if (name === row.target.route) return row.target.address;
    if (name === 'spoken') return row.event.callId;
    const call = await this.#options.store.getCallMedia(row.event.callId);
    return call?.targets.find(({ route }) => route === name)?.address ?? null;
  }

  async #unknown(row: OutboxRow): Promise<void> {
    const { store, clock } = this.#options;
    const now = clock.wallNow();
    const availableAt = now + this.#backoff(Math.max(row.attempts, 3));
    await clock.track(store.changeOutbox(row.deliveryId, row.fence, { status: 'unknown', availableAt }, now));
  }

  async #change(row: OutboxRow, change: OutboxChange, detail: string, reconciled = false): Promise<void> {
    const { store, clock, logger } = this.#options;
    const now = clock.wallNow();
    const type = reconciled ? 'delivery.reconciled' : AUDIT_TYPES[change.status];
    const audit = type ? deliveryAudit(type, row, now, detail) : undefined;
    const written = await clock.track(store.changeOutbox(row.deliveryId, row.fence, change, now, audit));
    const { callId, turn } = row.event;
    const facts = {
      callId,
      turn,
      segment: row.segment,
      status: change.status,
      detail,
      attempts: row.attempts,
    };
    if (written && change.status === 'sent') this.#options.onSent?.(row, change.by);
    if (written) logger.info(facts, 'media delivery');
    else logger.warn({ callId, turn, segment: row.segment }, 'a delivery was taken over meanwhile');
  }

  #delivery(row: OutboxRow, address: string): Delivery {
    const { attachments, clock } = this.#options;
    return {
      row,
      address,
      attemptAt: row.attemptAt ?? clock.wallNow(),
      load: () => clock.track(attachments.load(row.tenant, row.event, row.attachmentId)),
    };
  }

  /** An attempt ends within its time; what is thrown on the way is no word about the other side. */
  async #bounded<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T | SendOutcome> {
    const abort = new AbortController();
    const timer = this.#options.clock.setTimeout(() => abort.abort(), SEND_TIMEOUT_MS);
    try {
      return await work(abort.signal);
    } catch (error) {
      return isVoiceError(error, 'MEDIA_NOT_FOUND')
        ? { kind: 'failed', error: 'attachment_missing', permanent: true }
        : { kind: 'unknown' };
    } finally {
      timer.clear();
    }
  }

  /** Doubles from attempt to attempt; between half and all of it, so that what failed together comes back apart. */
  #backoff(attempts: number): number {
    const full = Math.min(BACKOFF_MAX_MS, BACKOFF_BASE_MS * 2 ** Math.max(0, attempts - 1));
    return Math.round(full / 2 + (full / 2) * this.#options.random());
  }
}

const AUDIT_TYPES = {
  sent: 'delivery.sent',
  retryable: 'delivery.retry_scheduled',
  dead_letter: 'delivery.dead_lettered',
  unknown: null,
  sending: null,
} as const;
