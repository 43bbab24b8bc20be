/**
 * The least the client needs of a WebSocket, and the real one. Tests put an in-memory server behind the same
 * two interfaces and run a session on virtual time.
 *
 * @module
 */

import WebSocket from 'ws';
import { readTextFrames } from '../../text-frame-reader.ts';
import { TextFrameWriter } from '../../text-frames.ts';

/** Longest message we read; an `output_audio.delta` of ten seconds of 24 kHz PCM has 640 KB. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

export interface ModelSocketRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Who gets what happens on the socket. */
export interface ModelSocketSink {
  opened(): void;
  /** The handshake was answered with another HTTP status than 101. */
  refused(httpStatus: number): void;
  /** The connection could not be made, or broke. */
  failed(error: unknown): void;
  /** One whole message: text, or bytes when the peer sent a binary frame. */
  message(data: string | Uint8Array): void;
  /** A ping or a pong arrived. */
  alive(): void;
  closed(code: number): void;
}

export interface ModelSocket {
  /** Bytes accepted by `send` and not yet handed to the network. */
  readonly bufferedAmount: number;
  /** @param isAscii - known to be: it need not be looked through */
  send(text: string, isAscii?: boolean): void;
  ping(): void;
  /** Starts the closing handshake. */
  close(code: number): void;
  /** Drops the connection at once. */
  terminate(): void;
}

/** Starts a connection. The sink is called later, never from inside this function. */
export type OpenModelSocket = (request: ModelSocketRequest, sink: ModelSocketSink) => ModelSocket;

export const openWebSocket: OpenModelSocket = (request, sink) => new WebSocketOfModel(request, sink);

/** A real WebSocket. Redirects are not followed: the key goes to the host that was named, and nowhere else. */
class WebSocketOfModel implements ModelSocket {
  readonly #socket: WebSocket;
  #writer: TextFrameWriter | null = null;

  constructor({ url, headers }: ModelSocketRequest, sink: ModelSocketSink) {
    const socket = new WebSocket(url, {
      headers,
      perMessageDeflate: false,
      maxPayload: MAX_MESSAGE_BYTES,
      followRedirects: false,
    });
    this.#socket = socket;
    socket.on('upgrade', (response) => {
      this.#writer = new TextFrameWriter(response.socket, true);
      socket.once('open', () => readTextFrames(socket, response.socket, false, (text) => sink.message(text)));
    });
    socket.on('open', () => sink.opened());
    socket.on('unexpected-response', (request, response) => {
      sink.refused(response.statusCode ?? 0);
      request.destroy();
    });
    socket.on('message', (data, isBinary) => sink.message(isBinary ? toBytes(data) : data.toString()));
    socket.on('ping', () => sink.alive());
    socket.on('pong', () => sink.alive());
    socket.on('error', (error) => sink.failed(error));
    socket.on('close', (code) => sink.closed(code));
  }

  get bufferedAmount(): number {
    return this.#socket.bufferedAmount + (this.#writer?.pendingBytes ?? 0);
  }

  send(text: string, isAscii = false): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#writer?.send(text, isAscii);
  }

  ping(): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.ping();
  }

  close(code: number): void {
    this.#writer?.flush();
    this.#socket.close(code);
  }

  terminate(): void {
    this.#socket.terminate();
  }
}

function toBytes(data: WebSocket.RawData): Uint8Array {
  if (Array.isArray(data)) return Buffer.concat(data);
  return data instanceof ArrayBuffer ? new Uint8Array(data) : data;
}
