/**
 * A strict double of Twilio's Calls API: it refuses what the real one refuses, changes the calls it was given, and can
 * fail in the ways that matter.
 *
 * @module
 */

import { timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { parseTwiml } from './carrier/twiml.ts';
import type { FakePhoneCall } from './fake-phone-call.ts';

/** What the next request meets. */
export type CallControlBehaviour =
  | { readonly kind: 'reject'; readonly status: number; readonly code: number }
  | { readonly kind: 'rate_limit' }
  | { readonly kind: 'server_error' }
  /** The connection breaks before anything is done. */
  | { readonly kind: 'reset' }
  /** It is done, and nothing is ever answered. */
  | { readonly kind: 'done_then_silence' };

/** A request that was in order, and what became of it. */
export interface CallControlRequest {
  readonly method: 'GET' | 'POST';
  readonly callSid: string;
  readonly form: Readonly<Record<string, string>>;
  readonly status: number;
}

export interface FakeCallControlOptions {
  readonly accountSid?: string;
  /** The account's, or an API key with its secret. */
  readonly user?: string;
  readonly secret?: string;
}

const MAX_TWIML_CHARS = 4000;

export class FakeCallControl {
  readonly accountSid: string;
  readonly secret: string;
  readonly requests: CallControlRequest[] = [];
  /** What it would not take, in words for a test. */
  readonly violations: string[] = [];
  readonly #user: string;
  readonly #calls = new Map<string, Pick<FakePhoneCall, 'status' | 'update' | 'complete'>>();
  readonly #next: CallControlBehaviour[] = [];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(options: FakeCallControlOptions) {
    this.accountSid = options.accountSid ?? `AC${'0'.repeat(31)}1`;
    this.#user = options.user ?? this.accountSid;
    this.secret = options.secret ?? 'call-control-token';
    this.#server = createServer((request, response) => void this.#handle(request, response));
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
    });
  }

  static async listen(options: FakeCallControlOptions = {}): Promise<FakeCallControl> {
    const fake = new FakeCallControl(options);
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve));
    return fake;
  }

  get baseUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** A call that can be changed from here on. */
  add(call: Pick<FakePhoneCall, 'callSid' | 'status' | 'update' | 'complete'>): void {
    this.#calls.set(call.callSid, call);
  }

  /** What the next requests meet, one each; after them everything works. */
  next(...behaviours: CallControlBehaviour[]): void {
    this.#next.push(...behaviours);
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, search } = new URL(request.url ?? '/', 'http://double');
    const match = /^\/2010-04-01\/Accounts\/([^/]+)\/Calls\/([^/]+)\.json$/.exec(pathname);
    if (!this.#isAuthorized(request)) return this.#refuse(response, 401, 20003, 'wrong credentials');
    if (match?.[1] !== this.accountSid) return this.#refuse(response, 404, 20404, `no ${pathname}`);
    const callSid = decodeURIComponent(match[2] ?? '');
    const { method } = request;
    if (method !== 'GET' && method !== 'POST') return this.#refuse(response, 405, 20004, `${method}`);
    if (search !== '') return this.#refuse(response, 400, 20001, 'a query');
    const form: Record<string, string> = {};
    if (method === 'POST') {
      const type = request.headers['content-type'] ?? '';
      if (!/^application\/x-www-form-urlencoded\b/.test(type))
        return this.#refuse(response, 415, 20001, `content type ${type}`);
      let body = '';
      for await (const chunk of request) body += chunk;
      for (const [name, value] of new URLSearchParams(body)) form[name] = value;
      const fault = faultOf(form);
      if (fault !== null) return this.#refuse(response, 400, fault.code, fault.words);
    }
    this.#do(method, callSid, form, request, response);
  }

  #do(
    method: 'GET' | 'POST',
    callSid: string,
    form: Readonly<Record<string, string>>,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const call = this.#calls.get(callSid);
    const behaviour = this.#next.shift();
    const answer = (status: number, body: object) => {
      this.requests.push({ method, callSid, form, status });
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    };
    const fail = (status: number, code: number) => answer(status, { code, message: SECRET_WORDS, status });
    if (behaviour?.kind === 'reset') {
      this.requests.push({ method, callSid, form, status: 0 });
      request.socket.destroy();
    } else if (behaviour?.kind === 'reject') fail(behaviour.status, behaviour.code);
    else if (behaviour?.kind === 'rate_limit') fail(429, 20429);
    else if (behaviour?.kind === 'server_error') fail(500, 20500);
    else if (!call) fail(404, 20404);
    else {
      const change = () => (form.Status === 'completed' ? call.complete() : call.update(form.Twiml ?? ''));
      const error = method === 'POST' ? change() : null;
      if (behaviour) this.requests.push({ method, callSid, form, status: 0 });
      else if (error !== null) fail(400, error);
      else answer(200, { sid: callSid, account_sid: this.accountSid, status: call.status });
    }
  }

  #refuse(response: ServerResponse, status: number, code: number, why: string): void {
    this.violations.push(`${status}/${code}: ${why}`);
    response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
    response.end(JSON.stringify({ code, message: SECRET_WORDS, status }));
  }

  #isAuthorized(request: IncomingMessage): boolean {
    const right = Buffer.from(`Basic ${Buffer.from(`${this.#user}:${this.secret}`).toString('base64')}`);
    const given = Buffer.from(request.headers.authorization ?? '');
    return given.length === right.length && timingSafeEqual(given, right);
  }
}

/** What a provider says may quote a number; a test looks whether it gets anywhere. */
const SECRET_WORDS = 'secret words of the provider';

function faultOf(form: Readonly<Record<string, string>>): { code: number; words: string } | null {
  for (const name of Object.keys(form))
    if (name !== 'Status' && name !== 'Twiml') return { code: 20001, words: `an unknown parameter ${name}` };
  const { Status: status, Twiml: twiml } = form;
  if ((status === undefined) === (twiml === undefined))
    return { code: 20001, words: 'not one of Status and Twiml' };
  if (status !== undefined && status !== 'completed' && status !== 'canceled')
    return { code: 21218, words: `status ${status}` };
  if (twiml === undefined) return null;
  if (twiml.length > MAX_TWIML_CHARS) return { code: 21235, words: 'too much TwiML' };
  try {
    const isRelative = /(?:action|url)="\/|<Redirect[^>]*>\//.test(twiml);
    parseTwiml(twiml);
    return isRelative ? { code: 15004, words: 'a relative address' } : null;
  } catch (error) {
    return { code: 12100, words: String(error) };
  }
}
