/**
 * The last way: the persisted fallback text, said on the line, word for word, at a moment when nobody speaks.
 *
 * @module
 */

import type { ReplyRoute } from '../../store/index.ts';
import type { DeliveryRoute } from './contract.ts';

export interface SpokenLine {
  /** Whether the call still has its caller. */
  isLive(callId: string): boolean;
  /**
   * Says a text once, at a quiet moment. Resolves to whether it is on its way to the line; `false` when it could not
   * be made, the call ended, or `signal` aborted before it began.
   */
  speakFallback(callId: string, text: string, signal: AbortSignal): Promise<boolean>;
  /** Something reached the caller of this call, or was told of in words. */
  sent?(callId: string, sent: SentMedia): void;
}

/** What became of one delivery, for the record of its call. */
export interface SentMedia {
  readonly kind: string;
  readonly caption: string;
  readonly route: ReplyRoute;
  /** The picture itself as a `data:` address, where it was shown and is small. */
  readonly picture?: string;
}

/** A caller who keeps talking is waited for, and asked again after this. */
const BUSY_LINE_RETRY_MS = 1000;

export function spokenRoute(line: SpokenLine): DeliveryRoute {
  return {
    route: 'spoken',
    async send({ row, address }, signal) {
      if (!line.isLive(address)) return { kind: 'failed', error: 'call_ended', permanent: true };
      if (await line.speakFallback(address, row.fallback, signal)) return { kind: 'accepted' };
      if (!line.isLive(address)) return { kind: 'failed', error: 'call_ended', permanent: true };
      return signal.aborted
        ? { kind: 'failed', error: 'not_ready', uncounted: true, retryAfterMs: BUSY_LINE_RETRY_MS }
        : { kind: 'failed', error: 'unavailable' };
    },
    // Whether a caller heard it before the process ended, nobody knows; and that call is over.
    reconcile: async () => 'unknown',
  };
}
