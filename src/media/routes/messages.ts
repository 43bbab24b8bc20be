/**
 * MMS and SMS: the picture itself, or a link to a page with a button, so that a preview doesn't use it up.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import type { MediaStore, OutboxRow } from '../../store/index.ts';
import { CARRIER_LINK_MS, RECONCILE_SETTLE_MS } from '../limits.ts';
import type { LinkSigner } from '../links.ts';
import type { TwilioMessages } from '../twilio-messages.ts';
import type { Delivery, DeliveryRoute, ReconcileOutcome } from './contract.ts';

/** Longest text of a message. */
export const MAX_BODY_CHARS = 1600;
/** Clocks of ours and of the provider's may differ by this. */
const CLOCK_SKEW_MS = 5000;

export interface MessageRouteOptions {
  readonly messages: TwilioMessages;
  readonly signer: LinkSigner;
  readonly store: Pick<MediaStore, 'listOutbox'>;
  readonly clock: Clock;
  /** The address that carriers and callers reach us at. */
  readonly publicBase: () => string;
}

export function mmsRoute(options: MessageRouteOptions): DeliveryRoute {
  const { messages, signer, clock, publicBase } = options;
  const body = (row: OutboxRow) => row.caption.slice(0, MAX_BODY_CHARS);
  return {
    route: 'mms',
    async send({ row, address, load }, signal) {
      await load();
      const path = signer.path('carrier', row, '', clock.wallNow() + CARRIER_LINK_MS);
      const statusUrl = statusUrlOf(row, publicBase());
      return messages.send(
        { to: address, body: body(row), mediaUrl: publicBase() + path, statusUrl },
        signal,
      );
    },
    reconcile: (delivery, signal) => lookFor(delivery, body(delivery.row), options, signal),
  };
}

export function smsRoute(options: MessageRouteOptions): DeliveryRoute {
  const { messages, signer, publicBase } = options;
  // The same link at every attempt: it is what the message is found by.
  const body = (row: OutboxRow) => {
    const link = publicBase() + signer.path('reader', row, '', row.expiresAt);
    const caption = row.caption.slice(0, MAX_BODY_CHARS - link.length - 1);
    return caption === '' ? link : `${caption}\n${link}`;
  };
  return {
    route: 'sms',
    async send({ row, address, load }, signal) {
      await load();
      const statusUrl = statusUrlOf(row, publicBase());
      return messages.send({ to: address, body: body(row), statusUrl }, signal);
    },
    reconcile: (delivery, signal) => lookFor(delivery, body(delivery.row), options, signal),
  };
}

/** Named after the delivery, so that a word about it can be told from one about another. */
function statusUrlOf({ deliveryId }: OutboxRow, base: string): string {
  return `${base}/twilio/message-status/${deliveryId}`;
}

/** Whether the provider lists a message of these words that no other delivery of the call has as its own. */
async function lookFor(
  { row, address, attemptAt }: Delivery,
  body: string,
  { messages, store, clock }: MessageRouteOptions,
  signal: AbortSignal,
): Promise<ReconcileOutcome> {
  const there = await messages.list(address, attemptAt - CLOCK_SKEW_MS, signal);
  if (there === null) return 'unknown';
  const siblings = await store.listOutbox({ callId: row.event.callId });
  const taken = new Set(siblings.map(({ providerRef }) => providerRef));
  const ours = there.filter((message) => message.body === body && !taken.has(message.sid));
  if (ours.length > 0) return ours.some(({ status }) => !isFailed(status)) ? 'accepted' : 'rejected';
  // Something accepted a moment ago may not be listed yet.
  return clock.wallNow() - attemptAt >= RECONCILE_SETTLE_MS ? 'rejected' : 'unknown';
}

const isFailed = (status: string) => status === 'failed' || status === 'undelivered' || status === 'canceled';
