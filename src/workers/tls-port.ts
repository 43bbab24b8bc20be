/**
 * The one port where it speaks TLS: what is encrypted can't be dealt out by what is in it. So connections are dealt in turn to
 * processes that do nothing but decrypt, and come back through a door inside, which is a socket in a folder of our own.
 *
 * @module
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { extname, join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Logger } from '../observe/index.ts';
import { Crew } from './crew.ts';
import { FrontDoor, type FrontDoorOptions } from './front-door.ts';
import { HeldConnections } from './held-connections.ts';
import { LINGER_MS } from './terminator.ts';
import { MAX_UNTAKEN_CONNECTIONS } from './worker-handle.ts';

export interface TlsPortOptions {
  readonly cert: string;
  readonly key: string;
  /** Calls are spread over so many. */
  readonly workers: number;
  /** Calls at once, over all workers. */
  readonly maxCalls: number;
  readonly logLevel: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly place: FrontDoorOptions['place'];
}

/** What each of the processes is told. */
export interface TlsSetup {
  readonly cert: string;
  readonly key: string;
  readonly inner: string;
  readonly maxConnections: number;
  readonly logLevel: string;
}

/** One for every two workers: to decrypt a call and to pass it on costs a fifth to two fifths of the call (`bench/workers.ts`). */
export const tlsProcessesOf = (workers: number): number => Math.ceil(workers / 2);
/** Connections of one process beyond two for each call. */
export const SPARE_CONNECTIONS = 256;
/** How much longer than it lingers a process may take to end. */
const STOP_MARGIN_MS = 1000;

export class TlsPort {
  /** Reads nothing: whoever gets a connection begins with its first byte. */
  readonly server = createServer({ allowHalfOpen: true, noDelay: true, pauseOnConnect: true }, (socket) => {
    socket.on('error', () => {});
    this.#deal({ socket, since: this.#clock.now() });
  });
  readonly inner: FrontDoor;
  readonly #clock: Clock;
  readonly #crew: Crew;
  readonly #held: HeldConnections<{ readonly socket: Socket; readonly since: number }>;
  /** Only this user can open it. */
  readonly #folder = mkdtempSync(join(tmpdir(), 'nanobot-'));

  constructor(options: TlsPortOptions) {
    const { cert, key, workers, maxCalls, logLevel, env, clock, logger, place } = options;
    this.#clock = clock;
    this.inner = new FrontDoor({ clock, isNamed: true, place });
    this.#held = new HeldConnections(
      clock,
      (connection) => this.#deal(connection),
      ({ socket }) => socket.destroy(),
    );
    const setup: TlsSetup = {
      cert,
      key,
      inner: this.#path,
      maxConnections: maxCalls * 2 + SPARE_CONNECTIONS,
      logLevel,
    };
    const size = tlsProcessesOf(workers);
    this.#crew = new Crew({
      size,
      program: new URL(`./tls-worker${extname(import.meta.url)}`, import.meta.url),
      env,
      clock,
      logger,
      begin: (slot, isFirst) => ({
        kind: 'begin',
        slot,
        of: size,
        isFirst,
        address: { host: '', port: 0, url: '' },
        setup,
      }),
      onMessage: () => {},
      onReady: () => this.#held.release(),
      onDeath: async ({ slot }) =>
        logger.error({ process: slot }, 'a TLS process died; its connections are lost, and it is replaced'),
    });
  }

  get #path(): string {
    return join(this.#folder, 'door');
  }

  /** @throws VoiceError `CONFIG_INVALID` without a certificate and its key; what stops a process from starting */
  async start(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.inner.server.once('error', reject);
      this.inner.server.listen(this.#path, () => {
        this.inner.server.off('error', reject);
        resolve();
      });
    });
    await this.#crew.start();
  }

  /** Once nobody is left to pass anything on to. */
  async stop(): Promise<void> {
    await this.#crew.stop(LINGER_MS + STOP_MARGIN_MS);
    this.kill();
  }

  kill(): void {
    this.#crew.kill();
    this.#held.close();
    this.server.close();
    this.inner.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #deal(connection: { readonly socket: Socket; readonly since: number }): void {
    const { socket } = connection;
    if (socket.destroyed) return;
    const process = this.#crew.next();
    if (!process || process.untaken >= MAX_UNTAKEN_CONNECTIONS) {
      if (this.#crew.isStopping) socket.destroy();
      else this.#held.add(connection);
      return;
    }
    process.hand(socket, Buffer.alloc(0), null, () => this.#deal(connection));
  }
}
