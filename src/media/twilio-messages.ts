/**
 * Twilio's Messages API, the two requests that we need: send one, and ask which there are.
 * https://www.twilio.com/docs/messaging/api/message-resource
 *
 * @module
 */

import type { Dispatcher } from 'undici';
import { z } from 'zod';
import { neverArrived, type TwilioAccount, type TwilioAnswer, TwilioRest } from '../twilio-rest.ts';
import type { SendOutcome } from './routes/contract.ts';

export interface TwilioMessagesOptions extends TwilioAccount {
  /** @defaultValue `https://api.twilio.com` */
  readonly baseUrl: string;
  readonly from?: string;
  readonly messagingServiceSid?: string;
  readonly dispatcher?: Dispatcher;
}

export interface OutgoingMessage {
  readonly to: string;
  readonly body: string;
  readonly mediaUrl?: string;
  /** Where the provider says later what became of it. */
  readonly statusUrl?: string;
}

export interface ListedMessage {
  readonly sid: string;
  readonly status: string;
  readonly body: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** Messages to one number that are looked through. */
const LIST_PAGE = 50;

const created = z.object({ sid: z.string().min(1).max(64) });
const listed = z.object({
  messages: z.array(
    z.object({
      sid: z.string(),
      status: z.string(),
      body: z.string().nullable(),
      date_created: z.string(),
    }),
  ),
});

export class TwilioMessages {
  readonly #options: TwilioMessagesOptions;
  readonly #rest: TwilioRest;

  constructor(options: TwilioMessagesOptions) {
    this.#options = options;
    this.#rest = new TwilioRest(options);
  }

  /** Never rejects. What the provider says stays here; only its class leaves. */
  async send({ to, body, mediaUrl, statusUrl }: OutgoingMessage, signal: AbortSignal): Promise<SendOutcome> {
    const { from, messagingServiceSid } = this.#options;
    const form = new URLSearchParams({ To: to, Body: body });
    if (messagingServiceSid !== undefined) form.set('MessagingServiceSid', messagingServiceSid);
    else if (from !== undefined) form.set('From', from);
    if (mediaUrl !== undefined) form.set('MediaUrl', mediaUrl);
    if (statusUrl !== undefined) form.set('StatusCallback', statusUrl);
    try {
      return outcomeOf(await this.#rest.post('/Messages.json', form, signal));
    } catch (error) {
      if (neverArrived(error)) return { kind: 'failed', error: 'unavailable' };
      // It was on its way: only a look at the list tells whether it got there.
      return { kind: 'unknown' };
    }
  }

  /** What was sent to a number since a moment; `null` when the provider does not say. */
  async list(to: string, since: number, signal: AbortSignal): Promise<ListedMessage[] | null> {
    // The filter goes by UTC days.
    const day = new Date(since).toISOString().slice(0, 10);
    const query = new URLSearchParams({ To: to, 'DateSent>': day, PageSize: String(LIST_PAGE) });
    try {
      const { status, json } = await this.#rest.get(`/Messages.json?${query}`, signal);
      const parsed = listed.safeParse(json);
      if (status !== 200 || !parsed.success) return null;
      return parsed.data.messages
        .map(({ sid, status: state, body, date_created }) => ({
          sid,
          status: state,
          body: body ?? '',
          createdAt: Date.parse(date_created),
        }))
        .filter((message) => !(message.createdAt < since));
    } catch {
      return null;
    }
  }

  close(): Promise<void> {
    return this.#rest.close();
  }
}

function outcomeOf({ status, retryAfterMs, json }: TwilioAnswer): SendOutcome {
  if (status === 201 || status === 200) {
    const sid = created.safeParse(json).data?.sid;
    return sid === undefined ? { kind: 'unknown' } : { kind: 'accepted', providerRef: sid };
  }
  if (status === 429) {
    return { kind: 'failed', error: 'rate_limited', ...(retryAfterMs !== undefined && { retryAfterMs }) };
  }
  if (status === 401 || status === 403) return { kind: 'failed', error: 'unauthenticated' };
  if (status >= 400 && status < 500) return { kind: 'failed', error: 'provider_rejected', permanent: true };
  // A server that failed may have done it all the same.
  return { kind: 'unknown' };
}
