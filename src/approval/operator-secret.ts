/**
 * The operator's secret: 256 random bits, printed once, kept as a hash in the data folder, which no tool reaches.
 *
 * @module
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { VoiceError } from '../errors.ts';

const fileSchema = z.strictObject({ sha256: z.string().regex(/^[0-9a-f]{64}$/), createdAt: z.string() });

const hashOf = (token: string) => createHash('sha256').update(token, 'utf8').digest();

export class OperatorSecret {
  readonly #path: string;
  #hash: Buffer | null = null;

  constructor(dataDirectory: string) {
    this.#path = join(dataDirectory, 'operator.json');
  }

  /**
   * Reads the hash, or makes a token when there is none.
   *
   * @returns the new token, to be shown once; `null` when there was one already
   * @throws VoiceError `CONFIG_UNREADABLE`: the file is damaged, and nobody is let in by a new token unasked
   */
  async open(now: number): Promise<string | null> {
    let text: string;
    try {
      text = await readFile(this.#path, 'utf8');
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return this.renew(now);
      throw unreadable(this.#path);
    }
    this.#hash = parseHash(text, this.#path);
    return null;
  }

  /** Makes a new token; the old one is of no use from then on. */
  async renew(now: number): Promise<string> {
    const token = randomBytes(32).toString('base64url');
    const hash = hashOf(token);
    await mkdir(join(this.#path, '..'), { recursive: true, mode: 0o700 });
    const temporary = `${this.#path}.${randomBytes(4).toString('hex')}`;
    const file = await open(temporary, 'wx', 0o600);
    try {
      await file.writeFile(
        `${JSON.stringify({ sha256: hash.toString('hex'), createdAt: new Date(now).toISOString() })}\n`,
      );
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporary, this.#path);
    this.#hash = hash;
    return token;
  }

  /** Reads the file anew: another process may have made a new token. Keeps what it knows when the file can't be read. */
  async refresh(): Promise<void> {
    try {
      this.#hash = parseHash(await readFile(this.#path, 'utf8'), this.#path);
    } catch {
      // The last one known holds.
    }
  }

  /** In constant time; false while there is no token. */
  verify(token: string): boolean {
    return this.#hash !== null && timingSafeEqual(this.#hash, hashOf(token));
  }

  /** What sessions are bound to: a new token ends them. */
  get fingerprint(): string {
    return this.#hash?.toString('hex') ?? '';
  }
}

function parseHash(text: string, path: string): Buffer {
  try {
    return Buffer.from(fileSchema.parse(JSON.parse(text)).sha256, 'hex');
  } catch {
    throw unreadable(path);
  }
}

const unreadable = (path: string) =>
  new VoiceError(
    'CONFIG_UNREADABLE',
    `${path} can't be read. Repair it, or make a new operator's token: nanobot-realtime approvals token`,
  );
