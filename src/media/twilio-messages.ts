/**
 * Twilio's Messages API, the two requests that we need: send one, and ask which there are.
 * https://www.twilio.com/docs/messaging/api/message-resource
 *
 * @module
 */

import { Agent, type Dispatcher, request } from 'undici';
import { z } from 'zod';
import type { SendOutcome } from './routes/contract.ts';

export interface TwilioMessagesOptions {
  readonly accountSid: string;
  readonly authToken: string;
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
}

export interface ListedMessage {
  readonly sid: string;
  readonly status: string;
  readonly body: string;
  /** Epoch ms. */
  readonly createdAt: number;
}

/** Longest answer that is read. */
const MAX_ANSWER_BYTES = 512 * 1024;
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

/** Connections that were never made: nothing can have arrived. */
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

export class TwilioMessages {
  readonly #options: TwilioMessagesOptions;
  readonly #dispatcher: Dispatcher;
  readonly #ownsDispatcher: boolean;

  constructor(options: TwilioMessagesOptions) {
    this.#options = options;
    this.#ownsDispatcher = options.dispatcher === undefined;
    this.#dispatcher = options.dispatcher ?? new Agent({ connections: 8, connect: { timeout: 5000 } });
  }

  /** Never rejects. What the provider says stays here; only its class leaves. */
  async send({ to, body, mediaUrl }: OutgoingMessage, signal: AbortSignal): Promise<SendOutcome> {
    const { from, messagingServiceSid } = this.#options;
    const form = new URLSearchParams({ To: to, Body: body });
    if (messagingServiceSid !== undefined) form.set('MessagingServiceSid', messagingServiceSid);
    else if (from !== undefined) form.set('From', from);
    if (mediaUrl !== undefined) form.set('MediaUrl', mediaUrl);
    try {
      const { status, retryAfterMs, json } = await this.#call('POST', '', signal, form.toString());
      return outcomeOf(status, retryAfterMs, json);
    } catch (error) {
      if (NEVER_CONNECTED.has(codeOf(error))) return { kind: 'failed', error: 'unavailable' };
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
      const { status, json } = await this.#call('GET', `?${query}`, signal);
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

  async close(): Promise<void> {
    if (this.#ownsDispatcher) await this.#dispatcher.close();
  }

  async #call(method: 'GET' | 'POST', query: string, signal: AbortSignal, form?: string) {
    const { accountSid, authToken, baseUrl } = this.#options;
    const account = encodeURIComponent(accountSid);
    const url = `${baseUrl.replace(/\/$/, '')}/2010-04-01/Accounts/${account}/Messages.json${query}`;
    const answer = await request(url, {
      method,
      signal,
      dispatcher: this.#dispatcher,
      headers: {
        authorization: `Basic ${Buffer.from(`${accountSid}:${authToken}`).toString('base64')}`,
        accept: 'application/json',
        ...(form !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form !== undefined && { body: form }),
    });
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of answer.body) {
      length += chunk.length;
      if (length > MAX_ANSWER_BYTES) throw new Error('the answer is too long');
      chunks.push(chunk);
    }
    const retryAfter = Number(answer.headers['retry-after']);
    return {
      status: answer.statusCode,
      retryAfterMs: retryAfter > 0 ? Math.min(retryAfter, 3600) * 1000 : undefined,
      json: parseJson(Buffer.concat(chunks).toString('utf8')),
    };
  }
}

function outcomeOf(status: number, retryAfterMs: number | undefined, json: unknown): SendOutcome {
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function codeOf(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}
