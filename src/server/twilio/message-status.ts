/**
 * Twilio's reports about messages that carried media.
 * https://www.twilio.com/docs/messaging/guides/track-outbound-message-status
 *
 * @module
 */

import type { Media } from '../../media/index.ts';
import type { Logger } from '../../observe/index.ts';
import type { WebhookParams } from './signature.ts';

/** Takes a verified report. It is written down in the background: the answer tells Twilio nothing. */
export function onMessageStatus(
  params: WebhookParams,
  deliveryId: string,
  { receipts, logger }: { receipts: Media['receipts']; logger: Logger },
): void {
  const status = params.get('MessageStatus') ?? '';
  const error = /^\d{5}$/.exec(params.get('ErrorCode') ?? '')?.[0] ?? null;
  if (error !== null) logger.warn({ twilioError: error }, 'Twilio could not deliver a message');
  receipts
    .report(deliveryId, params.get('MessageSid') ?? '', status)
    .catch(() => logger.warn('a report about a message could not be written down'));
}
