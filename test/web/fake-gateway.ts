/**
 * The built pages behind a gateway that does what a test says: the routes of docs/reference/page-http.md, the fallback's
 * socket, and nothing behind them.
 */
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { MessageJoiner, MessageSplitter } from '../../src/leg/page/parts.ts';
import { type PageCommand, type PageEvent, pageCommandSchema } from '../../src/leg/page/protocol.ts';

const DIST = new URL('../../web/dist/', import.meta.url);
const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; media-src 'self' blob:; font-src 'self'; worker-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
};

/** What a route answers: a value as JSON, or whatever the function does. */
export type Answer = unknown | ((request: IncomingMessage, response: ServerResponse, body: string) => void);

export class FakeGateway {
  readonly #server = createServer((request, response) => void this.#serve(request, response));
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #routes = new Map<string, Answer>();
  readonly #splitter = new MessageSplitter();
  /** Requests as `METHOD /path`, newest last. */
  readonly requests: { readonly name: string; readonly body: string }[] = [];
  readonly commands: PageCommand[] = [];
  /** Binary messages of the page's: its sound. */
  frames = 0;
  page: WebSocket | null = null;
  /** Open boards (`/operator/live`). */
  boards: WebSocket[] = [];
  /** Said to whoever says hello. */
  greeting: PageEvent[] = [];

  static async open(): Promise<FakeGateway> {
    const gateway = new FakeGateway();
    await new Promise<void>((resolve) => gateway.#server.listen(0, '127.0.0.1', resolve));
    return gateway;
  }

  private constructor() {
    this.#server.on('upgrade', (request, socket, head) => {
      this.#sockets.handleUpgrade(request, socket, head, (ws) => this.#accept(request.url ?? '', ws));
    });
    this.answer('POST /page/calls', { call: 'call-1', socket: '/page/socket/ticket' });
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** @param name - `GET /page/session`, without the query */
  answer(name: string, answer: Answer): void {
    this.#routes.set(name, answer);
  }

  tell(event: PageEvent): void {
    for (const part of this.#splitter.split(JSON.stringify(event))) this.page?.send(part);
  }

  play(frame: Int16Array): void {
    this.page?.send(Buffer.from(frame.buffer, frame.byteOffset, frame.byteLength));
  }

  async close(): Promise<void> {
    for (const ws of this.#sockets.clients) ws.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(path: string, ws: WebSocket): void {
    if (path.startsWith('/operator/live')) {
      this.boards.push(ws);
      ws.send(JSON.stringify({ type: 'hello' }));
      return;
    }
    const joiner = new MessageJoiner();
    this.page = ws;
    ws.on('message', (data, isBinary) => {
      if (isBinary) {
        this.frames++;
        return;
      }
      const command = pageCommandSchema.parse(joiner.join(String(data)));
      this.commands.push(command);
      if (command.type === 'hello') for (const event of this.greeting) this.tell(event);
      if (command.type === 'ping') this.tell({ type: 'pong', n: command.n });
    });
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    const name = `${request.method} ${path}`;
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks).toString('utf8');
    this.requests.push({ name, body });
    const file = path === '/talk' ? 'talk.html' : path === '/operator' ? 'operate.html' : path.slice(1);
    if (request.method === 'GET' && (file.endsWith('.html') || file.startsWith('assets/'))) {
      const type = TYPES[file.split('.').at(-1) ?? ''] ?? 'application/octet-stream';
      const bytes = await readFile(new URL(file, DIST)).catch(() => null);
      response.writeHead(bytes ? 200 : 404, { 'content-type': type, 'content-security-policy': CSP });
      response.end(bytes ?? '');
      return;
    }
    const answer = this.#routes.get(name);
    if (typeof answer === 'function') {
      answer(request, response, body);
      return;
    }
    response.writeHead(answer === undefined ? 404 : 200, { 'content-type': 'application/json' });
    response.end(
      JSON.stringify(answer ?? { error: { code: 'ROUTE_NOT_FOUND', message: 'There is nothing here.' } }),
    );
  }
}

/** An answer that is a refusal. */
export function refusal(status: number, code: string, message = code): Answer {
  return (_request: IncomingMessage, response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { code, message } }));
  };
}

export const SESSION = {
  role: 'owner',
  agent: { name: 'nanobot' },
  version: '0.1.0',
  canCall: true,
  whyNot: null,
  call: null,
  iceServers: [],
  iceServersUntil: null,
  relayOnly: false,
  webrtc: false,
  socket: true,
  fallbackAfterMs: 8000,
  reconnectWithinMs: 3000,
  limits: { maxCallS: 3600, typedChars: 2000 },
  has: { approvals: true, media: true },
} as const;
