/**
 * The one port, or what is behind it where it speaks TLS: reads the beginning of each connection, and hands the connection with what was read to the worker that it
 * is for. Strangers meet nothing else of this process.
 *
 * @module
 */

import { createServer, type Socket } from 'node:net';
import type { Clock, ClockTimer } from '../clock.ts';
import { refuse } from './refusals.ts';
import { type Peeked, peekRequest, type RequestHead } from './request-head.ts';

/** Connections whose beginning is still to come; with one more the oldest is cut. */
export const MAX_PEEKED_CONNECTIONS = 1024;
/** A connection whose first head is not there by then is closed. */
export const PEEK_TIMEOUT_MS = 10_000;

/** Longest address, with its end of line. */
const MAX_FROM_BYTES = 64;

export interface FrontDoorOptions {
  readonly clock: Clock;
  /** Each connection begins with a line that says whose it is. @defaultValue false */
  readonly isNamed?: boolean;
  /** Takes a connection that does not read any more, what was read of it, and whose it is if it was named. */
  readonly place: (socket: Socket, head: RequestHead, bytes: Buffer, from: string | null) => void;
}

interface Peeking {
  readonly timer: ClockTimer;
  bytes: Buffer;
  from: string | null;
}

export class FrontDoor {
  /** With the smallest buffer a connection stops to be read as soon as something is put back into it. */
  readonly server = createServer({ allowHalfOpen: true, noDelay: true, highWaterMark: 1 }, (socket) =>
    this.#open(socket),
  );
  readonly #options: FrontDoorOptions;
  /** Oldest first. */
  readonly #peeking = new Map<Socket, Peeking>();

  constructor(options: FrontDoorOptions) {
    this.#options = options;
  }

  /** Connections whose beginning is still to come. */
  get size(): number {
    return this.#peeking.size;
  }

  close(): void {
    this.server.close();
    for (const socket of this.#peeking.keys()) this.#drop(socket);
  }

  #open(socket: Socket): void {
    const [oldest] = this.#peeking.keys();
    if (oldest && this.#peeking.size >= MAX_PEEKED_CONNECTIONS) this.#drop(oldest);
    const timer = this.#options.clock.setTimeout(() => this.#drop(socket), PEEK_TIMEOUT_MS);
    const peeking: Peeking = { timer, bytes: Buffer.alloc(0), from: null };
    this.#peeking.set(socket, peeking);
    socket.on('error', () => this.#drop(socket));
    socket.on('close', () => this.#drop(socket));
    socket.on('end', () => this.#drop(socket));
    socket.on('data', (chunk: Buffer) => this.#read(socket, peeking, chunk));
  }

  #read(socket: Socket, peeking: Peeking, chunk: Buffer): void {
    if (this.#peeking.get(socket) !== peeking) return;
    peeking.bytes = peeking.bytes.length === 0 ? chunk : Buffer.concat([peeking.bytes, chunk]);
    if (this.#options.isNamed && peeking.from === null && !takeName(peeking)) {
      if (peeking.bytes.length > MAX_FROM_BYTES) this.#drop(socket);
      return;
    }
    const peeked: Peeked = peekRequest(peeking.bytes);
    if (peeked.kind === 'more') return;
    if (peeked.kind === 'too_large') {
      refuse(socket, '431 Request Header Fields Too Large');
      this.#forget(socket);
      return;
    }
    this.#forget(socket);
    // Put back, it fills the buffer, and the kernel keeps what comes from now on for whoever has the socket then. That
    // happens once this listener returns, and nothing may be handed on before.
    socket.pause();
    socket.removeAllListeners('data').removeAllListeners('end');
    socket.unshift(chunk);
    queueMicrotask(() => {
      if (!socket.destroyed) this.#options.place(socket, peeked.head, peeking.bytes, peeking.from);
    });
  }

  #forget(socket: Socket): void {
    this.#peeking.get(socket)?.timer.clear();
    this.#peeking.delete(socket);
  }

  #drop(socket: Socket): void {
    if (!this.#peeking.has(socket)) return;
    this.#forget(socket);
    socket.destroy();
  }
}

function takeName(peeking: Peeking): boolean {
  const end = peeking.bytes.indexOf('\n');
  if (end < 0 || end >= MAX_FROM_BYTES) return false;
  peeking.from = peeking.bytes.subarray(0, end).toString('latin1');
  peeking.bytes = peeking.bytes.subarray(end + 1);
  return true;
}
