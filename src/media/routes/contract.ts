/**
 * A way to the caller: takes one delivery, says truthfully what became of it, and can be asked later.
 *
 * @module
 */

import type { DeliveryErrorClass, OutboxRow, ReplyRoute } from '../../store/index.ts';
import type { Loaded } from '../attachments.ts';

export interface Delivery {
  readonly row: OutboxRow;
  /** Where this attempt goes; the row's own target, or the next after it failed. */
  readonly address: string;
  /** Epoch ms at which the attempt under way, or last made, began. */
  readonly attemptAt: number;
  /** The bytes, checked. @throws VoiceError `MEDIA_NOT_FOUND` */
  load(): Promise<Loaded>;
}

export type SendOutcome =
  | { readonly kind: 'accepted'; readonly providerRef?: string }
  | {
      readonly kind: 'failed';
      readonly error: DeliveryErrorClass;
      /** The same again will not do better. */
      readonly permanent?: boolean;
      /** It reached nobody: not counted, tried again after `retryAfterMs`. */
      readonly uncounted?: boolean;
      readonly retryAfterMs?: number;
    }
  /** It may have been accepted; nobody here can tell. */
  | { readonly kind: 'unknown' };

export type ReconcileOutcome = 'accepted' | 'rejected' | 'unknown';

export interface DeliveryRoute {
  readonly route: ReplyRoute;
  /** Never rejects for what the other side does; settles soon after `signal` aborts. */
  send(delivery: Delivery, signal: AbortSignal): Promise<SendOutcome>;
  /** What became of an attempt whose end nobody saw. */
  reconcile(delivery: Delivery, signal: AbortSignal): Promise<ReconcileOutcome>;
}
