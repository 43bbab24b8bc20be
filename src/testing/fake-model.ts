/**
 * `FakeModel`: a realtime server that speaks the GA dialect and forgives nothing. Over a real WebSocket on
 * loopback, or in memory on virtual time.
 *
 * @module
 */

import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import { WebSocketServer } from 'ws';
import type { AudioFormat } from '../audio/index.ts';
import { type Clock, realClock } from '../clock.ts';
import type { OpenModelSocket } from '../model/openai/index.ts';
import { DEFAULT_TIMING, type FakeTiming } from './model/fake-response.ts';
import { type FakeModelPeer, FakeModelSession, type Violation } from './model/fake-session.ts';
import { say, type TurnHandler } from './model/script.ts';

/** Path of the endpoint. */
const PATH = '/v1/realtime';
const BETA_MESSAGE = 'The Realtime Beta API is no longer supported. Please use /v1/realtime for the GA API.';

export interface FakeModelOptions {
  /** @defaultValue the machine's clock */
  readonly clock?: Clock;
  /** The key a client has to show, as `Authorization: Bearer` or `api-key`; any when left out. */
  readonly apiKey?: string;
  readonly timing?: Partial<FakeTiming>;
  /** @defaultValue 60 minutes */
  readonly maxSessionMs?: number;
  /** From a committed turn to its transcript, in ms. @defaultValue 120 */
  readonly transcriptionDelayMs?: number;
  /** Formats that the session insists on, whatever the client asks for. */
  readonly forceFormats?: { readonly input?: AudioFormat; readonly output?: AudioFormat };
  /** `false`: `session.update` is never answered. @defaultValue true */
  readonly answersSessionUpdate?: boolean;
  /** One-way delay of the in-memory connection, in ms of the clock. @defaultValue 0 */
  readonly latencyMs?: number;
}

export class FakeModel {
  /** Every connection so far, oldest first. */
  readonly sessions: FakeModelSession[] = [];
  /** Handshakes answered with something else than 101, as HTTP status. */
  readonly refusedHandshakes: number[] = [];
  /** Connects a client in memory; hand it to `createOpenAiModelFactory`. */
  readonly openSocket: OpenModelSocket;
  readonly #options: FakeModelOptions;
  readonly #clock: Clock;
  readonly #transcripts: (string | null)[] = [];
  #turnHandler: TurnHandler = () => [say('Okay.')];
  #idCount = 0;
  #server: Server | null = null;
  #sockets: WebSocketServer | null = null;

  constructor(options: FakeModelOptions = {}) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.openSocket = (request, sink) => this.#connectInMemory(request, sink);
  }

  /** What the model does with each turn. */
  onTurn(handler: TurnHandler): this {
    this.#turnHandler = handler;
    return this;
  }

  /** Transcripts of the caller's next turns, in order; `null` fails one. Without any, "(speech)". */
  willHear(...transcripts: (string | null)[]): this {
    this.#transcripts.push(...transcripts);
    return this;
  }

  /** The newest connection. */
  get session(): FakeModelSession {
    const session = this.sessions.at(-1);
    if (!session) throw new Error('Nobody has connected to this FakeModel yet.');
    return session;
  }

  /** What clients did wrong, over all connections. */
  get violations(): Violation[] {
    return this.sessions.flatMap((session) => session.violations);
  }

  /** Starts a WebSocket server on 127.0.0.1 and returns its address, `ws://127.0.0.1:…/v1/realtime`. */
  async listen(): Promise<string> {
    const server = createServer((_request, response) => response.writeHead(404).end());
    const sockets = new WebSocketServer({ noServer: true });
    server.on('upgrade', (request, socket, head) => this.#upgrade(sockets, request, socket, head));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#server = server;
    this.#sockets = sockets;
    const { port } = server.address() as AddressInfo;
    return `ws://127.0.0.1:${port}${PATH}`;
  }

  /** Drops every connection and stops listening. */
  async close(): Promise<void> {
    for (const session of this.sessions) session.reset();
    for (const socket of this.#sockets?.clients ?? []) socket.terminate();
    const server = this.#server;
    this.#server = null;
    if (server) await new Promise<void>((resolve) => server.close(() => resolve()));
  }

  #upgrade(sockets: WebSocketServer, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const url = new URL(request.url ?? '/', 'ws://127.0.0.1');
    const status = url.pathname === PATH ? this.#handshakeStatus(request.headers) : 404;
    if (status !== 101) {
      this.refusedHandshakes.push(status);
      socket.end(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, socket, head, (webSocket) => {
      const session = this.#accept(url, request.headers, {
        send: (text) => webSocket.send(text),
        close: (code, reason) => webSocket.close(code, reason),
        terminate: () => webSocket.terminate(),
      });
      webSocket.on('message', (data: Buffer, isBinary) =>
        session?.receive(isBinary ? data : data.toString()),
      );
      webSocket.on('close', () => session?.disconnected());
      webSocket.on('error', () => webSocket.terminate());
    });
  }

  #connectInMemory(
    request: Parameters<OpenModelSocket>[0],
    sink: Parameters<OpenModelSocket>[1],
  ): ReturnType<OpenModelSocket> {
    let session: FakeModelSession | null = null;
    let over = false;
    const hop = (run: () => void) => {
      if (this.#options.latencyMs) this.#clock.setTimeout(run, this.#options.latencyMs);
      else queueMicrotask(run);
    };
    /** Ends both sides; the client hears `code`. */
    const end = (code: number) => {
      if (over) return;
      over = true;
      session?.disconnected();
      hop(() => sink.closed(code));
    };
    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name.toLowerCase(), value]),
    );
    hop(() => {
      if (over) return;
      const status = this.#handshakeStatus(headers);
      if (status !== 101) {
        this.refusedHandshakes.push(status);
        sink.refused(status);
        end(1006);
        return;
      }
      sink.opened();
      session = this.#accept(new URL(request.url), headers, {
        send: (text) => hop(() => sink.message(text)),
        close: end,
        terminate: () => end(1006),
      });
    });
    return {
      bufferedAmount: 0,
      send: (text, isAscii = false) => {
        // The real one would write half of it.
        if (isAscii && Buffer.byteLength(text) !== text.length) throw new Error('It is not ASCII.');
        hop(() => session?.receive(text));
      },
      ping: () => hop(() => over || hop(() => sink.alive())),
      close: (code) => hop(() => end(code)),
      terminate: () => end(1006),
    };
  }

  #handshakeStatus(headers: Readonly<Record<string, string | string[] | undefined>>): number {
    const { apiKey } = this.#options;
    if (apiKey === undefined) return 101;
    return headers.authorization === `Bearer ${apiKey}` || headers['api-key'] === apiKey ? 101 : 401;
  }

  #accept(
    url: URL,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    peer: FakeModelPeer,
  ): FakeModelSession | null {
    if (String(headers['openai-beta'] ?? '').includes('realtime=v1')) {
      this.#turnAway(peer, 'beta_api_shape_disabled', BETA_MESSAGE);
      return null;
    }
    const model = url.searchParams.get('model');
    if (!model) {
      this.#turnAway(peer, 'missing_model', 'You must provide a model parameter.');
      return null;
    }
    const session = new FakeModelSession(peer, {
      clock: this.#clock,
      model,
      timing: { ...DEFAULT_TIMING, ...this.#options.timing },
      maxSessionMs: this.#options.maxSessionMs ?? 3_600_000,
      transcriptionDelayMs: this.#options.transcriptionDelayMs ?? 120,
      forceFormats: this.#options.forceFormats ?? null,
      answersSessionUpdate: this.#options.answersSessionUpdate ?? true,
      onTurn: (turn) => this.#turnHandler(turn),
      nextTranscript: () => (this.#transcripts.length > 0 ? (this.#transcripts.shift() ?? null) : '(speech)'),
      newId: (prefix) => `${prefix}_${String(++this.#idCount).padStart(6, '0')}`,
    });
    this.sessions.push(session);
    return session;
  }

  /** The handshake succeeds; then comes the error, and close code 4000. */
  #turnAway(peer: FakeModelPeer, code: string, message: string): void {
    const error = { type: 'invalid_request_error', code, message, param: null, event_id: null };
    peer.send(JSON.stringify({ type: 'error', event_id: `event_${++this.#idCount}`, error }));
    peer.close(4000, `invalid_request_error.${code}`);
  }
}
