import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { TextSocket, TextSocketSink } from '../leg/index.ts';
import { readTextFrames } from '../text-frame-reader.ts';
import { TextFrameWriter } from '../text-frames.ts';

/** A `ws` WebSocket as the socket of a leg. */
export class WsTextSocket implements TextSocket {
  readonly #ws: WebSocket;
  readonly #writer: TextFrameWriter;
  #sink: TextSocketSink | null = null;

  /** @param socket - the stream that `ws` was given, without extensions; text goes past `ws`, both ways */
  constructor(ws: WebSocket, socket: Duplex) {
    this.#ws = ws;
    this.#writer = new TextFrameWriter(socket, false);
    ws.on('message', (data, isBinary) => {
      if (!this.#sink) return;
      // `ws` has checked a text frame's UTF-8; its data is a Buffer unless `binaryType` was changed.
      this.#sink.message(isBinary || !Buffer.isBuffer(data) ? new Uint8Array() : data.toString('utf8'));
    });
    readTextFrames(ws, socket, true, (text) => this.#sink?.message(text));
    ws.on('close', (code) => this.#sink?.closed(code));
    // A broken frame, a message that is too long, a reset: `ws` closes the socket by itself and `close` follows.
    ws.on('error', () => {});
  }

  get bufferedAmount(): number {
    return this.#ws.bufferedAmount + this.#writer.pendingBytes;
  }

  listen(sink: TextSocketSink | null): void {
    this.#sink = sink;
  }

  send(text: string, isAscii = false): void {
    if (this.#ws.readyState === WebSocket.OPEN) this.#writer.send(text, isAscii);
  }

  close(code?: number, reason?: string): void {
    this.#writer.flush();
    this.#ws.close(code, reason);
  }
}
