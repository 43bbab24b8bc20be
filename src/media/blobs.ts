/**
 * The bytes of attachments on disk: one file per content, named by its SHA-256, readable by its owner alone.
 *
 * @module
 */

import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';

const DIGEST = /^[0-9a-f]{64}$/;
const CHUNK_BYTES = 256 * 1024;

export class Blobs {
  readonly #directory: string;
  /** Writes and removals of one content never cross. */
  #turn: Promise<unknown> = Promise.resolve();

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Keeps the bytes and runs `then` before anything may be removed; resolves to what `then` gave. */
  keep<T>(bytes: Uint8Array, sha256: string, then: () => Promise<T>): Promise<T> {
    return this.#exclusive(async () => {
      await this.#write(bytes, sha256);
      return then();
    });
  }

  /** The bytes, if they are there and are exactly these; `null` otherwise. */
  async read(sha256: string, size: number): Promise<Buffer | null> {
    if (!DIGEST.test(sha256)) return null;
    try {
      const handle = await open(this.#path(sha256), constants.O_RDONLY | constants.O_NOFOLLOW);
      try {
        const stats = await handle.stat();
        if (!stats.isFile() || stats.size !== size) return null;
        const bytes = Buffer.allocUnsafe(size);
        const hash = createHash('sha256');
        let length = 0;
        while (length < size) {
          const { bytesRead } = await handle.read(bytes, length, Math.min(CHUNK_BYTES, size - length));
          if (bytesRead === 0) return null;
          hash.update(bytes.subarray(length, length + bytesRead));
          length += bytesRead;
        }
        return hash.digest('hex') === sha256 ? bytes : null;
      } finally {
        await handle.close();
      }
    } catch {
      return null;
    }
  }

  /** Removes contents that `isUsed` does not name, asked while nothing is being written. */
  remove(digests: readonly string[], used: (digests: readonly string[]) => Promise<string[]>): Promise<void> {
    return this.#exclusive(async () => {
      const kept = new Set(await used(digests));
      for (const digest of digests) {
        if (DIGEST.test(digest) && !kept.has(digest)) await unlink(this.#path(digest)).catch(() => {});
      }
    });
  }

  /** Digests on disk, and leftovers of writes that a crash cut off are removed. For the start. */
  async list(): Promise<string[]> {
    const names = await readdir(this.#directory, { recursive: true }).catch(() => []);
    const digests: string[] = [];
    for (const name of names) {
      const base = name.split(/[/\\]/).at(-1) ?? '';
      if (DIGEST.test(base)) digests.push(base);
      else if (base.endsWith('.tmp')) await unlink(join(this.#directory, name)).catch(() => {});
    }
    return digests;
  }

  async #write(bytes: Uint8Array, sha256: string): Promise<void> {
    const path = this.#path(sha256);
    const folder = join(path, '..');
    await mkdir(folder, { recursive: true, mode: 0o700 });
    // Always written anew: a file that is there may be damaged, and a rename replaces it in one step.
    const temporary = join(folder, `${randomBytes(8).toString('hex')}.tmp`);
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, path);
    await syncFolder(folder);
  }

  #path(sha256: string): string {
    return join(this.#directory, sha256.slice(0, 2), sha256);
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => {});
    return done;
  }
}

/** A rename is on the disk once its folder is; where folders can't be opened there is nothing to do. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r').catch(() => null);
  await handle?.sync().catch(() => {});
  await handle?.close();
}
