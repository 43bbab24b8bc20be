/**
 * Twilio's reports about a call or a stream. They come late, twice and out of order, so they only ever end
 * things, and ending twice is nothing.
 *
 * @module
 */

import type { Logger } from '../../observe/index.ts';
import type { StreamTokens } from '../stream-tokens.ts';
import type { MediaSockets } from './media.ts';
import type { WebhookParams } from './signature.ts';

const OVER = new Set(['completed', 'busy', 'failed', 'no-answer', 'canceled']);

export function onStatus(
  params: WebhookParams,
  { tokens, media, logger }: { tokens: StreamTokens; media: MediaSockets; logger: Logger },
): void {
  const callSid = params.get('CallSid') ?? '';
  const status = params.get('CallStatus') ?? '';
  if (OVER.has(status)) {
    tokens.revoke(callSid);
    media.carrierEnded(callSid);
  }
  const streamEvent = params.get('StreamEvent');
  if (streamEvent === 'stream-error') {
    // Twilio's text may quote the address, which holds a token: only its number is logged.
    const errorNumber = /\b\d{5}\b/.exec(params.get('StreamError') ?? '')?.[0] ?? null;
    logger.warn({ twilioError: errorNumber }, 'Twilio could not open or keep the media stream');
  }
}
