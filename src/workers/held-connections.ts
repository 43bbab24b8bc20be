/**
 * Connections that wait, because there is nobody to hand them to just now.
 *
 * @module
 */

import type { Socket } from 'node:net';
import type { Clock, ClockTimer } from '../clock.ts';

/** A connection for a worker that is just being replaced waits so long for it. */
export const HOLD_TIMEOUT_MS = 10_000;
/** Connections that wait at once. */
export const MAX_HELD_CONNECTIONS = 256;
/** They are tried again so often. */
const RETRY_MS = 1000;

interface Waiting {
  readonly socket: Socket;
  /** When its wait began. */
  readonly since: number;
}

export class HeldConnections<C extends Waiting> {
  readonly #clock: Clock;
  readonly #place: (connection: C) => void;
  readonly #refuse: (connection: C) => void;
  #held: C[] = [];
  #timer: ClockTimer | null = null;

  /**
   * @param place - tries again, and may give the connection back to `add`
   * @param refuse - it waited too long, or too many do
   */
  constructor(clock: Clock, place: (connection: C) => void, refuse: (connection: C) => void) {
    this.#clock = clock;
    this.#place = place;
    this.#refuse = refuse;
  }

  get size(): number {
    return this.#held.length;
  }

  add(connection: C): void {
    if (
      this.#held.length >= MAX_HELD_CONNECTIONS ||
      this.#clock.now() - connection.since >= HOLD_TIMEOUT_MS
    ) {
      this.#refuse(connection);
      return;
    }
    this.#held.push(connection);
    this.#timer ??= this.#clock.setTimeout(() => {
      this.#timer = null;
      this.release();
    }, RETRY_MS);
  }

  /** Each finds its place, or waits on. */
  release(): void {
    for (const held of this.#held.splice(0)) if (!held.socket.destroyed) this.#place(held);
  }

  close(): void {
    this.#timer?.clear();
    for (const { socket } of this.#held.splice(0)) socket.destroy();
  }
}
