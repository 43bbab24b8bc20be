/**
 * One socket's life: a deadline for the handshake, a heartbeat, a bound on what waits to be sent, and one end,
 * told once. After that end nothing of the socket comes through.
 *
 * @module
 */

import type { Clock, ClockTimer } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';
import type { Endpoint } from './endpoint.ts';
import { refusalErrorCode } from './error-table.ts';
import type { ModelSocket, OpenModelSocket } from './socket.ts';

/** Time from the first packet to a configured session. */
export const CONNECT_TIMEOUT_MS = 10_000;
/** A ping goes out this often; a connection that showed no life since the one before is dead. */
export const PING_INTERVAL_MS = 10_000;
/** Bytes that may wait for the network; about a minute of µ-law. Beyond it the connection counts as stuck. */
export const MAX_BUFFERED_BYTES = 1024 * 1024;
/** How long the server may take to answer our close before the connection is dropped. */
export const CLOSE_TIMEOUT_MS = 2000;

export type ConnectionEnd =
  /** It never opened, or not in time. */
  | { readonly type: 'failed'; readonly error: VoiceError }
  /** The server closed it, or it broke; 1006 when nobody said why. */
  | { readonly type: 'closed'; readonly code: number }
  /** We gave it up. */
  | { readonly type: 'dead'; readonly why: 'no_heartbeat' | 'backpressure' };

export interface ConnectionSink {
  opened(): void;
  message(data: string | Uint8Array): void;
  /** Called once; nothing follows it. Not called after `close`. */
  ended(end: ConnectionEnd): void;
}

export class ModelConnection {
  readonly #clock: Clock;
  readonly #sink: ConnectionSink;
  readonly #socket: ModelSocket;
  #open = false;
  #ended = false;
  #aliveSincePing = true;
  #timer: ClockTimer;

  constructor(endpoint: Endpoint, open: OpenModelSocket, clock: Clock, sink: ConnectionSink) {
    this.#clock = clock;
    this.#sink = sink;
    this.#timer = clock.setTimeout(() => this.#timedOut(), CONNECT_TIMEOUT_MS);
    this.#socket = open(endpoint, {
      opened: () => {
        if (this.#ended) return;
        this.#open = true;
        sink.opened();
      },
      refused: (status) => this.#refused(status),
      failed: (error) => this.#failed(error),
      message: (data) => {
        if (this.#ended) return;
        this.#aliveSincePing = true;
        sink.message(data);
      },
      alive: () => {
        this.#aliveSincePing = true;
      },
      closed: (code) => this.#closed(code),
    });
  }

  /** The session is configured: from here the heartbeat counts instead of the deadline. */
  established(): void {
    if (this.#ended) return;
    this.#timer.clear();
    this.#beat();
  }

  /** Sends one message; ends the connection when too much waits already. */
  send(text: string, isAscii = false): void {
    if (this.#ended || !this.#open) return;
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.#end({ type: 'dead', why: 'backpressure' });
      this.#socket.terminate();
      return;
    }
    this.#socket.send(text, isAscii);
  }

  /** Ends it from our side. The server gets a moment to answer; nothing more is reported. */
  close(code: number): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer.clear();
    if (!this.#open) {
      this.#socket.terminate();
      return;
    }
    this.#timer = this.#clock.setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS);
    this.#socket.close(code);
  }

  #beat(): void {
    this.#timer = this.#clock.setTimeout(() => {
      if (!this.#aliveSincePing) {
        this.#end({ type: 'dead', why: 'no_heartbeat' });
        this.#socket.terminate();
        return;
      }
      this.#aliveSincePing = false;
      this.#socket.ping();
      this.#beat();
    }, PING_INTERVAL_MS);
  }

  #timedOut(): void {
    const what = this.#open ? 'did not configure the session' : 'did not answer';
    this.#end({
      type: 'failed',
      error: new VoiceError(
        'MODEL_UNAVAILABLE',
        `The model's server ${what} within ${CONNECT_TIMEOUT_MS} ms.`,
      ),
    });
    this.#socket.terminate();
  }

  #refused(status: number): void {
    const message = `The model's server refused the connection with HTTP ${status}.`;
    this.#end({ type: 'failed', error: new VoiceError(refusalErrorCode(status), message) });
  }

  #failed(error: unknown): void {
    if (this.#open) {
      this.#end({ type: 'closed', code: 1006 });
      return;
    }
    const failure = new VoiceError('MODEL_UNAVAILABLE', "The model's server can't be reached.", {
      cause: error,
    });
    this.#end({ type: 'failed', error: failure });
  }

  #closed(code: number): void {
    // Also after our own `close`: the answer to it stops the timer that would drop the connection.
    this.#timer.clear();
    if (this.#open) this.#end({ type: 'closed', code });
    else this.#failed(undefined);
  }

  #end(end: ConnectionEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#timer.clear();
    this.#sink.ended(end);
  }
}
