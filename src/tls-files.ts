/**
 * HTTPS of our own: the certificate's files, read anew when they change, so that a renewal needs no restart.
 *
 * @module
 */

import { readFile, stat } from 'node:fs/promises';
import { createSecureContext, type Server as TlsServer } from 'node:tls';
import type { Clock, ClockTimer } from './clock.ts';
import type { TlsConfig } from './config-page.ts';
import { VoiceError } from './errors.ts';
import type { Logger } from './observe/index.ts';

/** The files are looked at so often. */
export const TLS_CHECK_MS = 60_000;

interface Certificate {
  readonly cert: Buffer;
  readonly key: Buffer;
}

export class TlsFiles {
  readonly #paths: { readonly cert: string; readonly key: string };
  readonly #clock: Clock;
  readonly #logger: Logger;
  #stamp = '';
  #timer: ClockTimer | null = null;

  constructor(paths: { cert: string; key: string }, clock: Clock, logger: Logger) {
    this.#paths = paths;
    this.#clock = clock;
    this.#logger = logger;
  }

  // A close while it is being looked at must not begin a new watch.
  #isClosed = false;

  /** `null` without both files. */
  static of({ cert, key }: TlsConfig, clock: Clock, logger: Logger): TlsFiles | null {
    return cert === undefined || key === undefined ? null : new TlsFiles({ cert, key }, clock, logger);
  }

  /** Gives the server its certificate, and each new one. @throws VoiceError `CONFIG_INVALID` */
  async serve(server: TlsServer): Promise<void> {
    try {
      this.#stamp = await this.#stampNow();
      server.setSecureContext(await this.#read());
    } catch (cause) {
      throw new VoiceError(
        'CONFIG_INVALID',
        'channels.realtime.server.tls: the files can’t be read, or are no certificate and its key in PEM.',
        { cause },
      );
    }
    this.#watch(server);
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.clear();
  }

  #watch(server: TlsServer): void {
    if (this.#isClosed) return;
    this.#timer = this.#clock.setTimeout(() => {
      this.#renew(server)
        .catch(() => this.#logger.error('the new certificate can’t be used; the old one stays'))
        .finally(() => this.#watch(server));
    }, TLS_CHECK_MS);
  }

  async #renew(server: TlsServer): Promise<void> {
    const stamp = await this.#stampNow();
    if (stamp === this.#stamp) return;
    server.setSecureContext(await this.#read());
    this.#stamp = stamp;
    this.#logger.info('a new certificate is in use');
  }

  async #read(): Promise<Certificate> {
    const [cert, key] = await Promise.all([readFile(this.#paths.cert), readFile(this.#paths.key)]);
    // Throws for what does not fit together, before the server has it.
    createSecureContext({ cert, key });
    return { cert, key };
  }

  async #stampNow(): Promise<string> {
    const stats = await Promise.all([stat(this.#paths.cert), stat(this.#paths.key)]);
    return stats.map(({ mtimeMs, size, ino }) => `${mtimeMs}:${size}:${ino}`).join(' ');
  }
}
