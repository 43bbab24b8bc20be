import type { WebSocket } from 'ws';
import type { TextSocket, TextSocketSink } from '../leg/index.ts';

/** A `ws` WebSocket as the socket of a leg. */
export class WsTextSocket implements TextSocket {
  readonly #ws: WebSocket;
  #sink: TextSocketSink | null = null;

  constructor(ws: WebSocket) {
    this.#ws = ws;
    ws.on('message', (data, isBinary) => {
      if (!this.#sink) return;
      // `ws` has checked a text frame's UTF-8; its data is a Buffer unless `binaryType` was changed.
      this.#sink.message(isBinary || !Buffer.isBuffer(data) ? new Uint8Array() : data.toString('utf8'));
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

  close(code?: number, reason?: string): void {
    this.#ws.close(code, reason);
  }
}
