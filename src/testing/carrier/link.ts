/**
 * How a fake carrier reaches the server: in memory, or over a real WebSocket.
 *
 * @module
 */

import WebSocket from 'ws';
import type { TextSocket, TextSocketSink } from '../../leg/index.ts';

export interface CarrierLinkSink {
  message(data: string | Uint8Array): void;
  /** Called once. 1006 when the connection broke. */
  closed(code: number): void;
}

export interface CarrierLink {
  listen(sink: CarrierLinkSink): void;
  send(text: string): void;
  sendBinary(data: Uint8Array): void;
  close(code: number): void;
  /** Breaks the connection without a closing handshake. */
  reset(): void;
  /** Stops reading, as a phone network that hangs; what the server sends piles up on its side. */
  pause(): void;
  resume(): void;
}

/** A connected pair: the carrier's end, and the `TextSocket` that a leg is made of. */
export function memoryLink(): { link: CarrierLink; socket: TextSocket } {
  let carrier: CarrierLinkSink | null = null;
  let server: TextSocketSink | null = null;
  let paused = false;
  let closed = false;
  let closing = false;
  let backlog: (string | Uint8Array)[] = [];
  let backlogBytes = 0;

  const drain = () => {
    const messages = backlog;
    backlog = [];
    backlogBytes = 0;
    for (const message of messages) if (!closed) carrier?.message(message);
  };
  const end = (code: number) => {
    if (closed) return;
    closed = true;
    queueMicrotask(() => server?.closed(code));
    queueMicrotask(() => carrier?.closed(code));
  };
  const toServer = (data: string | Uint8Array) => {
    queueMicrotask(() => {
      if (!closed) server?.message(data);
    });
  };

  const link: CarrierLink = {
    listen: (sink) => {
      carrier = sink;
    },
    send: toServer,
    sendBinary: toServer,
    close: (code) => queueMicrotask(() => end(code)),
    reset: () => end(1006),
    pause: () => {
      paused = true;
    },
    resume: () => {
      paused = false;
      queueMicrotask(drain);
    },
  };
  const socket: TextSocket = {
    get bufferedAmount() {
      return paused ? backlogBytes : 0;
    },
    listen: (sink) => {
      server = sink;
    },
    send: (text, isAscii = false) => {
      if (closed || closing) return;
      // The real one would write half of it.
      if (isAscii && Buffer.byteLength(text) !== text.length) throw new Error('It is not ASCII.');
      backlog.push(text);
      backlogBytes += text.length;
      if (!paused) queueMicrotask(drain);
    },
    close: (code) => {
      if (closing) return;
      closing = true;
      // Behind what was sent before it.
      queueMicrotask(() => end(code ?? 1000));
    },
  };
  return { link, socket };
}

/** Connects to a running server. Rejects when the handshake is refused. */
export function webSocketLink(
  url: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<CarrierLink> {
  const socket = new WebSocket(url, { headers, perMessageDeflate: false });
  let sink: CarrierLinkSink | null = null;
  socket.on('message', (data: Buffer, isBinary) => sink?.message(isBinary ? data : data.toString()));
  socket.on('close', (code) => sink?.closed(code));
  const link: CarrierLink = {
    listen: (next) => {
      sink = next;
    },
    send: (text) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(text);
    },
    sendBinary: (data) => {
      if (socket.readyState === WebSocket.OPEN) socket.send(data);
    },
    close: (code) => socket.close(code),
    reset: () => socket.terminate(),
    pause: () => socket.pause(),
    resume: () => socket.resume(),
  };
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('open', () => resolve(link));
  });
}
