/**
 * The WebSocket of a page's call: its ticket, then the leg of its call.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import type { WebSocket } from 'ws';
import type { Clock } from '../../clock.ts';
import type { RealtimeConfig } from '../../config.ts';
import { isVoiceError, VoiceError } from '../../errors.ts';
import type { TextSocketSink } from '../../leg/index.ts';
import { type PageSocket, PageSocketLeg } from '../../leg/page/index.ts';
import type { Logger } from '../../observe/index.ts';
import type { BrowserGuard } from '../pages/browser-guard.ts';
import type { PageUser } from './page-access.ts';
import type { PageCalls } from './page-calls.ts';
import type { PageTickets } from './page-tickets.ts';

/** `/page/socket/<ticket>` */
export const PAGE_SOCKET_PATH = /^\/page\/socket\/([\w-]{43,44})$/;

export interface PageSocketsOptions {
  readonly config: RealtimeConfig;
  readonly guard: BrowserGuard;
  readonly calls: PageCalls;
  readonly tickets: PageTickets;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What an upgrade request has shown. */
export interface PageUpgrade {
  readonly callId: string;
  readonly user: PageUser;
}

export class PageSockets {
  readonly #options: PageSocketsOptions;

  constructor(options: PageSocketsOptions) {
    this.#options = options;
  }

  /** Checked before there is a WebSocket. @throws VoiceError `ORIGIN_REFUSED`, `STREAM_TOKEN_INVALID` */
  admit(request: IncomingMessage, ticket: string): PageUpgrade {
    const { guard, tickets } = this.#options;
    const get = (name: string) => {
      const value = request.headers[name];
      return typeof value === 'string' ? value : null;
    };
    // A client that is no browser has no origin; it has shown who it is for the ticket.
    const isOurs = get('origin') === null ? guard.isOurHost(get('host')) : guard.isOurOrigin({ get });
    if (!isOurs) throw new VoiceError('ORIGIN_REFUSED', 'The socket is not open to other pages.');
    const grant = tickets.take(ticket);
    if (!grant) throw new VoiceError('STREAM_TOKEN_INVALID', 'The ticket is unknown, used or too old.');
    return grant;
  }

  accept(ws: WebSocket, { callId, user }: PageUpgrade): void {
    const { calls, clock, config, logger } = this.#options;
    const link = calls.newLink(user);
    const leg = new PageSocketLeg({
      socket: new WsPageSocket(ws),
      link,
      clock,
      noMediaTimeoutMs: config.limits.noMediaTimeoutS * 1000,
    });
    try {
      calls.attach(calls.ofUser(callId, user), { leg, link, transport: 'socket' });
    } catch (error) {
      logger.warn({ callId, code: isVoiceError(error) ? error.code : 'INTERNAL' }, 'no call for this page');
      calls.abandon(leg);
    }
  }
}

/** A `ws` WebSocket that carries text and bytes. */
class WsPageSocket implements PageSocket {
  readonly #ws: WebSocket;
  #sink: TextSocketSink | null = null;

  constructor(ws: WebSocket) {
    this.#ws = ws;
    ws.on('message', (data, isBinary) => {
      if (!Buffer.isBuffer(data)) return;
      this.#sink?.message(isBinary ? data : data.toString('utf8'));
    });
    ws.on('close', (code) => this.#sink?.closed(code));
    // A broken frame, a message that is too long, a reset: `ws` closes the socket by itself and `close` follows.
    ws.on('error', () => {});
  }

  get bufferedAmount(): number {
    return this.#ws.bufferedAmount;
  }

  listen(sink: TextSocketSink | null): void {
    this.#sink = sink;
  }

  send(text: string): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.send(text);
  }

  sendBytes(bytes: Uint8Array): void {
    if (this.#ws.readyState === this.#ws.OPEN) this.#ws.send(bytes);
  }

  close(code?: number, reason?: string): void {
    this.#ws.close(code, reason);
  }
}
