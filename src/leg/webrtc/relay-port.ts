/**
 * The way to a TURN server in relay-only mode. The native stack would try direct paths whatever its policy says, and so
 * show our address to the peer. In this mode it is bound to this machine's loopback address, where it reaches nobody, and
 * only what it says to the TURN server is carried out, by this port of ours.
 *
 * @module
 */

import { createSocket, type Socket } from 'node:dgram';
import { lookup } from 'node:dns/promises';

export interface TurnAddress {
  readonly host: string;
  readonly port: number;
}

/** Host and port of a TURN address that we can use (over UDP); `null` for the others. */
export function turnAddress(url: string): TurnAddress | null {
  const match = /^turn:(\[[0-9A-Fa-f:.]+\]|[^:?\s]+)(?::(\d{1,5}))?(?:\?transport=udp)?$/.exec(url);
  if (!match?.[1]) return null;
  return { host: match[1].replace(/^\[|\]$/g, ''), port: Number(match[2] ?? 3478) };
}

export class RelayPort {
  readonly #inside: Socket;
  readonly #outside: Socket;
  #agentPort: number | null = null;
  #isClosed = false;

  private constructor(inside: Socket, outside: Socket) {
    this.#inside = inside;
    this.#outside = outside;
    inside.on('message', (bytes, { port }) => {
      this.#agentPort = port;
      outside.send(bytes, ignore);
    });
    outside.on('message', (bytes) => {
      if (this.#agentPort !== null) inside.send(bytes, this.#agentPort, '127.0.0.1', ignore);
    });
    inside.on('error', ignore);
    outside.on('error', ignore);
  }

  /**
   * @param bindAddress - the address that the TURN server sees us at
   * @throws Error of the system: no such name, no port
   */
  static async open({ host, port }: TurnAddress, bindAddress?: string): Promise<RelayPort> {
    const { address, family } = await lookup(host);
    const inside = createSocket('udp4');
    const outside = createSocket(family === 6 ? 'udp6' : 'udp4');
    try {
      await ready(inside, 'listening', () => inside.bind(0, '127.0.0.1'));
      await ready(outside, 'listening', () => outside.bind(0, bindAddress));
      // Nothing but the TURN server's own packets come in from here on.
      await ready(outside, 'connect', () => outside.connect(port, address));
    } catch (error) {
      inside.close();
      outside.close();
      throw error;
    }
    return new RelayPort(inside, outside);
  }

  /** Where the native stack finds the TURN server, on 127.0.0.1. */
  get port(): number {
    return this.#inside.address().port;
  }

  /** Idempotent. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#inside.close();
    this.#outside.close();
  }
}

/** A datagram that is lost here is lost as it might be anywhere. */
function ignore(): void {}

function ready(socket: Socket, event: 'listening' | 'connect', start: () => void): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.once('error', reject);
    socket.once(event, () => {
      socket.off('error', reject);
      resolve();
    });
    start();
  });
}
