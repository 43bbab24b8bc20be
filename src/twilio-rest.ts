/**
 * Twilio's REST API, as far as anything here needs it: one request, its answer read within a bound, and who is asking.
 * Calls are controlled with it (`server/twilio`) and messages sent (`media`).
 *
 * @module
 */

import type { Dispatcher } from 'undici';
import { undici } from './lazy.ts';

export interface TwilioAccount {
  readonly accountSid: string;
  /** The account itself with its auth token, or an API key with its secret. */
  readonly user: string;
  readonly secret: string;
}

export interface TwilioRestOptions extends TwilioAccount {
  readonly baseUrl: string;
  /** @defaultValue one of its own */
  readonly dispatcher?: Dispatcher;
}

export interface TwilioAnswer {
  readonly status: number;
  /** Twilio's own number of an error; `null` when it gave none. What it says beside it may quote a phone number. */
  readonly code: number | null;
  /** What `Retry-After` asks for, at most an hour. */
  readonly retryAfterMs: number | undefined;
  /** `null` when the body isn't JSON. */
  readonly json: unknown;
}

/** Longest answer that is read. */
export const MAX_REST_ANSWER_BYTES = 512 * 1024;
const CONNECT_TIMEOUT_MS = 5000;
const CONNECTIONS = 8;

/** Connections that were never made: nothing can have arrived. */
const NEVER_CONNECTED: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether a request that failed with this can't have reached Twilio. */
export function neverArrived(error: unknown): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && NEVER_CONNECTED.has(error.code);
}

/**
 * Who asks, of what a config or an environment says; `null` when it does not say enough.
 *
 * @param given - the API key counts before the auth token, because it can be taken back by itself
 */
export function twilioAccount(given: {
  readonly accountSid?: string | undefined;
  readonly authToken?: string | undefined;
  readonly apiKey?: { readonly sid?: string | undefined; readonly secret?: string | undefined };
}): TwilioAccount | null {
  const { accountSid, authToken, apiKey = {} } = given;
  if (!accountSid) return null;
  if (apiKey.sid && apiKey.secret) return { accountSid, user: apiKey.sid, secret: apiKey.secret };
  return authToken ? { accountSid, user: accountSid, secret: authToken } : null;
}

export class TwilioRest {
  readonly #root: string;
  readonly #authorization: string;
  readonly #dispatcher: Dispatcher;
  readonly #ownsDispatcher: boolean;

  constructor({ accountSid, user, secret, baseUrl, dispatcher }: TwilioRestOptions) {
    this.#root = `${baseUrl.replace(/\/+$/, '')}/2010-04-01/Accounts/${encodeURIComponent(accountSid)}`;
    this.#authorization = `Basic ${Buffer.from(`${user}:${secret}`).toString('base64')}`;
    this.#ownsDispatcher = dispatcher === undefined;
    this.#dispatcher =
      dispatcher ??
      new (undici().Agent)({ connections: CONNECTIONS, connect: { timeout: CONNECT_TIMEOUT_MS } });
  }

  /**
   * @param path - below the account, such as `/Calls/CA….json`
   * @throws whatever the connection met; see `neverArrived`
   */
  get(path: string, signal: AbortSignal): Promise<TwilioAnswer> {
    return this.#call('GET', path, signal);
  }

  post(path: string, form: URLSearchParams, signal: AbortSignal): Promise<TwilioAnswer> {
    return this.#call('POST', path, signal, form.toString());
  }

  async close(): Promise<void> {
    if (this.#ownsDispatcher) await this.#dispatcher.close();
  }

  async #call(
    method: 'GET' | 'POST',
    path: string,
    signal: AbortSignal,
    body?: string,
  ): Promise<TwilioAnswer> {
    const answer = await undici().request(this.#root + path, {
      method,
      signal,
      dispatcher: this.#dispatcher,
      headers: {
        authorization: this.#authorization,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(body !== undefined && { body }),
    });
    const chunks: Buffer[] = [];
    let length = 0;
    for await (const chunk of answer.body) {
      length += chunk.length;
      if (length > MAX_REST_ANSWER_BYTES) throw new Error('the answer is too long');
      chunks.push(chunk);
    }
    const retryAfter = Number(answer.headers['retry-after']);
    const json = parseJson(Buffer.concat(chunks).toString('utf8'));
    return {
      status: answer.statusCode,
      code: codeOf(json),
      retryAfterMs: retryAfter > 0 ? Math.min(retryAfter, 3600) * 1000 : undefined,
      json,
    };
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function codeOf(json: unknown): number | null {
  const code = typeof json === 'object' && json !== null && 'code' in json ? json.code : null;
  return typeof code === 'number' ? code : null;
}
