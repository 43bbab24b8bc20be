/**
 * A strict double of Twilio's Messages API: it refuses what the real one refuses, fetches pictures as a carrier does,
 * and can fail in the ways that matter.
 *
 * @module
 */

import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** What the next request to send meets. */
export type MessagingBehaviour =
  | { readonly kind: 'accept' }
  /** Not taken, with Twilio's own code. */
  | { readonly kind: 'reject'; readonly status: number; readonly code: number }
  | { readonly kind: 'rate_limit'; readonly retryAfterS: number }
  /** Taken, and nothing is ever answered. */
  | { readonly kind: 'accept_then_silence' }
  /** Taken, and the connection breaks. */
  | { readonly kind: 'accept_then_reset' }
  /** The connection breaks before anything is taken. */
  | { readonly kind: 'reset' }
  | { readonly kind: 'server_error' };

export interface FakeMessage {
  readonly sid: string;
  readonly to: string;
  readonly from: string;
  readonly body: string;
  readonly mediaUrl: string | null;
  readonly createdAt: number;
  /** Where its sender wants to hear what became of it. */
  readonly statusCallback: string | null;
  status: 'queued' | 'sent' | 'delivered' | 'undelivered' | 'failed';
  /** The picture, as the carrier got it. */
  media: { readonly type: string; readonly bytes: Buffer } | null;
}

export interface FakeMessagingOptions {
  readonly accountSid?: string;
  readonly authToken?: string;
  /** Wall-clock time. @defaultValue `Date.now` */
  readonly now?: () => number;
  /** Has the double see another machine for a public address, e.g. one that only exists in a test. */
  readonly resolveUrl?: (url: string) => string;
}

const MAX_BODY_CHARS = 1600;
const MAX_MEDIA_BYTES = 5_000_000;
const PICTURES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif']);
const E164 = /^\+[1-9]\d{6,14}$/;
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  'To',
  'From',
  'MessagingServiceSid',
  'Body',
  'MediaUrl',
  'StatusCallback',
  'ValidityPeriod',
]);

export class FakeMessaging {
  readonly accountSid: string;
  readonly authToken: string;
  readonly messages: FakeMessage[] = [];
  /** Requests to send that came at all. */
  attempts = 0;
  /** Whether the list of messages can be had. */
  isListDown = false;
  readonly #options: FakeMessagingOptions;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #next: MessagingBehaviour[] = [];
  readonly #fetches = new Set<Promise<void>>();

  private constructor(options: FakeMessagingOptions) {
    this.#options = options;
    this.accountSid = options.accountSid ?? `AC${'0'.repeat(31)}1`;
    this.authToken = options.authToken ?? 'messaging-token';
    this.#server = createServer((request, response) => void this.#handle(request, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static async listen(options: FakeMessagingOptions = {}): Promise<FakeMessaging> {
    const fake = new FakeMessaging(options);
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What the next requests to send meet, one each; after them everything is accepted. */
  next(...behaviours: MessagingBehaviour[]): void {
    this.#next.push(...behaviours);
  }

  /** Resolves when every picture was fetched, or could not be. */
  async fetched(): Promise<void> {
    await Promise.all(this.#fetches);
  }

  /**
   * Says what became of a message, as Twilio does: signed, at the address that its sender gave.
   *
   * @returns the HTTP status of the answer; `null` when the sender gave no address
   */
  async report(
    message: FakeMessage,
    status: FakeMessage['status'],
    options: { readonly errorCode?: string; readonly authToken?: string } = {},
  ): Promise<number | null> {
    message.status = status;
    const { statusCallback: url } = message;
    if (url === null) return null;
    const { errorCode, authToken = this.authToken } = options;
    const fields: Record<string, string> = {
      AccountSid: this.accountSid,
      MessageSid: message.sid,
      MessageStatus: status,
      ...(errorCode !== undefined && { ErrorCode: errorCode }),
    };
    const text = Object.keys(fields)
      .sort()
      .reduce((all, name) => all + name + fields[name], url);
    const answer = await fetch(this.#options.resolveUrl?.(url) ?? url, {
      method: 'POST',
      body: new URLSearchParams(fields),
      headers: { 'x-twilio-signature': createHmac('sha1', authToken).update(text).digest('base64') },
      redirect: 'error',
    });
    return answer.status;
  }

  async close(): Promise<void> {
    await this.fetched();
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', 'http://double');
    const path = `/2010-04-01/Accounts/${this.accountSid}/Messages.json`;
    if (!this.#isAuthorized(request)) return refuse(response, 401, 20003);
    if (url.pathname !== path) return refuse(response, 404, 20404);
    if (request.method === 'GET') return this.#list(url.searchParams, response);
    if (request.method !== 'POST') return refuse(response, 405, 20004);
    this.attempts += 1;
    const length = Number(request.headers['content-length']);
    if (!Number.isInteger(length) || request.headers['transfer-encoding'] !== undefined)
      return refuse(response, 411, 20001);
    if (!/^application\/x-www-form-urlencoded\b/.test(request.headers['content-type'] ?? ''))
      return refuse(response, 415, 20001);
    const body = await bodyOf(request);
    if (body === null || body.length !== length) return refuse(response, 400, 20001);
    const form = new URLSearchParams(body.toString('utf8'));
    const fault = faultOf(form);
    if (fault !== null) return refuse(response, 400, fault);
    this.#answer(form, request, response);
  }

  #answer(form: URLSearchParams, request: IncomingMessage, response: ServerResponse): void {
    const behaviour = this.#next.shift() ?? { kind: 'accept' };
    switch (behaviour.kind) {
      case 'accept': {
        const { sid, status } = this.#accept(form);
        response.writeHead(201, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ sid, status, error_code: null }));
        break;
      }
      case 'reject':
        refuse(response, behaviour.status, behaviour.code);
        break;
      case 'rate_limit':
        response.setHeader('retry-after', String(behaviour.retryAfterS));
        refuse(response, 429, 20429);
        break;
      case 'accept_then_silence':
        this.#accept(form);
        break;
      case 'accept_then_reset':
        this.#accept(form);
        request.socket.destroy();
        break;
      case 'reset':
        request.socket.destroy();
        break;
      case 'server_error':
        refuse(response, 500, 20500);
        break;
      default:
        behaviour satisfies never;
    }
  }

  #accept(form: URLSearchParams): FakeMessage {
    const message: FakeMessage = {
      sid: `MM${String(this.messages.length + 1).padStart(32, '0')}`,
      to: form.get('To') ?? '',
      from: form.get('From') ?? form.get('MessagingServiceSid') ?? '',
      body: form.get('Body') ?? '',
      mediaUrl: form.get('MediaUrl'),
      statusCallback: form.get('StatusCallback'),
      createdAt: (this.#options.now ?? Date.now)(),
      status: 'queued',
      media: null,
    };
    this.messages.push(message);
    const fetching = this.#fetchMedia(message);
    this.#fetches.add(fetching);
    void fetching.finally(() => this.#fetches.delete(fetching));
    return message;
  }

  /** As a carrier does: no cookies, no signature, and a picture that has a length and a type, or none. */
  async #fetchMedia(message: FakeMessage): Promise<void> {
    if (message.mediaUrl === null) {
      message.status = 'sent';
      return;
    }
    try {
      const url = this.#options.resolveUrl?.(message.mediaUrl) ?? message.mediaUrl;
      const answer = await fetch(url, { redirect: 'error' });
      const bytes = Buffer.from(await answer.arrayBuffer());
      const type = answer.headers.get('content-type') ?? '';
      const isGood =
        answer.status === 200 &&
        Number(answer.headers.get('content-length')) === bytes.length &&
        bytes.length <= MAX_MEDIA_BYTES &&
        PICTURES.has(type);
      if (isGood) message.media = { type, bytes };
      message.status = isGood ? 'sent' : 'failed';
    } catch {
      message.status = 'failed';
    }
  }

  #list(query: URLSearchParams, response: ServerResponse): void {
    const isKnown = [...query.keys()].every((key) => ['To', 'DateSent>', 'PageSize'].includes(key));
    if (this.isListDown || !isKnown) {
      refuse(response, this.isListDown ? 503 : 400, 20001);
      return;
    }
    const since = Date.parse(`${query.get('DateSent>') ?? '1970-01-01'}T00:00:00Z`);
    const found = this.messages
      .filter(({ to, createdAt }) => to === query.get('To') && createdAt >= since)
      .slice(-Number(query.get('PageSize') ?? 50));
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify({
        messages: found.map(({ sid, status, body, createdAt }) => ({
          sid,
          status,
          body,
          // RFC 2822, to the second, as Twilio has it.
          date_created: new Date(createdAt).toUTCString().replace('GMT', '+0000'),
        })),
      }),
    );
  }

  #isAuthorized(request: IncomingMessage): boolean {
    const right = Buffer.from(
      `Basic ${Buffer.from(`${this.accountSid}:${this.authToken}`).toString('base64')}`,
    );
    const given = Buffer.from(request.headers.authorization ?? '');
    return given.length === right.length && timingSafeEqual(given, right);
  }
}

/** Twilio's code for what is wrong with the form; `null` when nothing is. */
function faultOf(form: URLSearchParams): number | null {
  for (const key of form.keys()) if (!KNOWN_FIELDS.has(key)) return 20001;
  const from = form.get('From');
  if (!E164.test(form.get('To') ?? '')) return 21211;
  if (from === null && form.get('MessagingServiceSid') === null) return 21603;
  if (from !== null && !E164.test(from)) return 21212;
  const body = form.get('Body') ?? '';
  const media = form.getAll('MediaUrl');
  if (body === '' && media.length === 0) return 21602;
  if (body.length > MAX_BODY_CHARS) return 21617;
  if (media.length > 10) return 21623;
  const callback = form.get('StatusCallback');
  if (callback !== null && !/^https?:\/\//.test(callback)) return 21609;
  return media.every((url) => /^https?:\/\//.test(url)) ? null : 21620;
}

function refuse(response: ServerResponse, status: number, code: number): void {
  const message = `secret words of the provider about ${code}`;
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ code, message, status }));
}

async function bodyOf(request: IncomingMessage): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of request) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  } catch {
    return null;
  }
}
