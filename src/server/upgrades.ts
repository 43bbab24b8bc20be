/**
 * WebSocket upgrades: a request that isn't right is answered before there is any WebSocket.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type ServerOptions, WebSocketServer } from 'ws';
import { VoiceError } from '../errors.ts';
import { errorAnswer } from './errors.ts';
import { MAX_SOCKET_MESSAGE_BYTES, SOCKET_CLOSE_TIMEOUT_MS } from './limits.ts';
import { MEDIA_LIVE_PATH, type MediaLive } from './media/index.ts';
import type { ServerMetrics } from './metrics.ts';
import { STATUS_CODES } from './node-http.ts';
import { PAGE_SOCKET_PATH, type PageSockets } from './page/index.ts';
import { BOARD_LIVE_PATH, type BoardLive } from './pages/board-live.ts';
import type { PublicAddress } from './public-address.ts';
import type { MediaSockets } from './twilio/media.ts';
import { WsTextSocket } from './ws-socket.ts';

/** `/twilio/media` or `/twilio/media/<token>`; a query is dropped by Twilio and ignored here. */
const MEDIA_PATH = /^\/twilio\/media(?:\/([\w-]+))?\/?(?:\?.*)?$/;

/** `closeTimeout` is in `ws` since 8.19 and not in its published types yet. */
const SOCKET_OPTIONS: ServerOptions & { readonly closeTimeout: number } = {
  noServer: true,
  maxPayload: MAX_SOCKET_MESSAGE_BYTES,
  perMessageDeflate: false,
  closeTimeout: SOCKET_CLOSE_TIMEOUT_MS,
};

export class Upgrades {
  readonly #address: PublicAddress;
  readonly #media: MediaSockets;
  readonly #metrics: ServerMetrics;
  readonly #board: BoardLive | null;
  readonly #pages: MediaLive | null;
  readonly #calls: PageSockets | null;
  readonly #wss = new WebSocketServer(SOCKET_OPTIONS);

  constructor(
    address: PublicAddress,
    media: MediaSockets,
    metrics: ServerMetrics,
    board: BoardLive | null = null,
    pages: MediaLive | null = null,
    calls: PageSockets | null = null,
  ) {
    this.#calls = calls;
    this.#board = board;
    this.#pages = pages;
    this.#address = address;
    this.#media = media;
    this.#metrics = metrics;
  }

  /** The `upgrade` listener of the HTTP server. */
  handle(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    // `ws` looks after errors once it has the socket; until then a reset must not end the process.
    const onError = () => socket.destroy();
    socket.on('error', onError);
    const target = this.#address.strip(request.url ?? '/');
    try {
      if (this.#board && target === BOARD_LIVE_PATH) {
        const session = this.#board.admit(request);
        this.#wss.handleUpgrade(request, socket, head, (ws) => {
          socket.off('error', onError);
          this.#board?.accept(ws, session);
        });
        return;
      }
      if (this.#pages && target === MEDIA_LIVE_PATH) {
        const callId = this.#pages.admit(request);
        this.#wss.handleUpgrade(request, socket, head, (ws) => {
          socket.off('error', onError);
          this.#pages?.accept(ws, callId);
        });
        return;
      }
      const ticket = this.#calls && PAGE_SOCKET_PATH.exec(target)?.[1];
      if (this.#calls && ticket) {
        const call = this.#calls.admit(request, ticket);
        this.#wss.handleUpgrade(request, socket, head, (ws) => {
          socket.off('error', onError);
          this.#metrics.countRequest('page_socket', 101);
          this.#calls?.accept(ws, call);
        });
        return;
      }
      const match = MEDIA_PATH.exec(target);
      if (!match) throw new VoiceError('ROUTE_NOT_FOUND', 'There is no WebSocket at this address.');
      const upgrade = this.#media.admit(match[1] ?? null, request.socket.remoteAddress ?? '');
      // Frees the place too when the handshake itself fails and no WebSocket comes of it.
      socket.once('close', upgrade.leave);
      this.#wss.handleUpgrade(request, socket, head, (ws) => {
        socket.off('error', onError);
        this.#metrics.countRequest('twilio_media', 101);
        this.#media.accept(new WsTextSocket(ws, socket), upgrade);
      });
    } catch (error) {
      const { status, body } = errorAnswer(error);
      this.#metrics.countRequest(routeOf(target), status);
      socket.end(
        `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\nConnection: close\r\n` +
          `Content-Type: application/json; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
      );
      socket.once('finish', () => socket.destroy());
    }
  }

  /** Cuts every socket that is still open. */
  terminate(): void {
    for (const ws of this.#wss.clients) ws.terminate();
    this.#wss.close();
  }
}

/** By the name under which it is counted. */
function routeOf(target: string): string {
  if (target.startsWith('/page/')) return 'page_socket';
  if (target === BOARD_LIVE_PATH) return 'operator_live';
  return target === MEDIA_LIVE_PATH ? 'media_live' : 'twilio_media';
}
