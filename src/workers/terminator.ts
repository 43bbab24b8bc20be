/**
 * Our end of TLS: decrypts connections and passes on what is in them to the door inside, byte by byte, both ways. It reads
 * nothing of it.
 *
 * @module
 */

import { connect, type Socket } from 'node:net';
import { createServer, type Server, type TLSSocket } from 'node:tls';
import type { Clock } from '../clock.ts';
import type { TlsFiles } from '../tls-files.ts';

/** Handshakes under way at once; with one more the oldest is cut. */
export const MAX_HANDSHAKES = 1024;
/** A handshake that is not over by then is given up. */
export const HANDSHAKE_TIMEOUT_MS = 10_000;
/** When one end is gone, the other one has so long to take what is left, and to go. */
export const LINGER_MS = 5000;

export interface TerminatorOptions {
  readonly clock: Clock;
  /** Where the door inside listens. */
  readonly inner: string;
  /** Connections at once; one more is closed. */
  readonly maxConnections: number;
  /** @defaultValue {@link HANDSHAKE_TIMEOUT_MS} */
  readonly handshakeTimeoutMs?: number;
}

export class Terminator {
  readonly #options: TerminatorOptions;
  readonly #server: Server;
  /** By whose they are, oldest first. */
  readonly #shaking = new Map<string, Socket>();
  readonly #open = new Set<TLSSocket>();
  #files: TlsFiles | null = null;
  #onIdle: (() => void) | null = null;

  constructor(options: TerminatorOptions) {
    this.#options = options;
    this.#server = createServer({
      ALPNProtocols: ['http/1.1'],
      allowHalfOpen: true,
      handshakeTimeout: options.handshakeTimeoutMs ?? HANDSHAKE_TIMEOUT_MS,
    });
    this.#server.on('secureConnection', (secure) => this.#join(secure));
    // What is no TLS, or none that we speak, or comes too slowly: closed without a word.
    this.#server.on('tlsClientError', (_error, secure) => secure.destroy());
  }

  /** Connections, those whose handshake is still under way included. */
  get size(): number {
    return this.#shaking.size + this.#open.size;
  }

  /** @throws VoiceError `CONFIG_INVALID` without a certificate and its key */
  async serve(files: TlsFiles): Promise<void> {
    this.#files = files;
    await files.serve(this.#server);
  }

  /** Takes a connection of which nothing was read. */
  take(socket: Socket): void {
    const name = nameOf(socket);
    if (name === null || this.size >= this.#options.maxConnections) {
      socket.destroy();
      return;
    }
    const [oldest] = this.#shaking.values();
    if (oldest && this.#shaking.size >= MAX_HANDSHAKES) oldest.destroy();
    this.#shaking.set(name, socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => {
      if (this.#shaking.get(name) === socket) this.#shaking.delete(name);
      this.#look();
    });
    this.#server.emit('connection', socket);
  }

  /** Resolves when no connection is left. */
  idle(): Promise<void> {
    return new Promise((resolve) => {
      this.#onIdle = resolve;
      this.#look();
    });
  }

  close(): void {
    this.#files?.close();
    for (const socket of [...this.#shaking.values(), ...this.#open]) socket.destroy();
  }

  #look(): void {
    if (this.size === 0) this.#onIdle?.();
  }

  #join(secure: TLSSocket): void {
    const name = nameOf(secure);
    if (name === null) {
      secure.destroy();
      return;
    }
    this.#shaking.delete(name);
    this.#open.add(secure);
    secure.once('close', () => {
      this.#open.delete(secure);
      this.#look();
    });
    const inside = connect({ path: this.#options.inner, allowHalfOpen: true });
    inside.write(`${secure.remoteAddress}\n`);
    this.#tie(secure, inside);
    this.#tie(inside, secure);
    // A worker that has said all closes its end, whole, which can't be told from half of it here: no call waits for more.
    inside.once('end', () => this.#linger(secure));
    // Each stops to be read while the other one does not take what came; each one's end is the other one's.
    secure.pipe(inside);
    inside.pipe(secure);
  }

  /** When `one` is gone, `other` sends what it still has, and goes too. */
  #tie(one: Socket, other: Socket): void {
    one.on('error', () => one.destroy());
    one.once('close', () => {
      other.end(() => other.destroy());
      this.#linger(other);
    });
  }

  #linger(socket: Socket): void {
    if (socket.destroyed) return;
    const limit = this.#options.clock.setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => limit.clear());
  }
}

/** `null` for one that is gone already. */
function nameOf({ remoteAddress, remotePort }: Socket): string | null {
  return remoteAddress === undefined ? null : `${remoteAddress} ${remotePort}`;
}
