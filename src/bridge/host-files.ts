/**
 * Files that the host's agent sends to a caller: read only from the folders that the host named, then handed to media
 * as what `send_file` made.
 *
 * @module
 */

import { open, realpath } from 'node:fs/promises';
import { basename, isAbsolute, relative } from 'node:path';
import { MAX_ATTACHMENT_BYTES, type Media } from '../media/index.ts';
import type { Logger } from '../observe/index.ts';

/** Files of one message; more are left out. */
export const MAX_FILES = 10;
/** Messages whose files may wait for those of others: they are read one after another. */
export const MAX_WAITING_MESSAGES = 20;
/** The media tool that this counts as: who may not use it gets no files of the host's either. */
const SEND_FILE = 'send_file';

export interface HostFilesOptions {
  readonly media: Pick<Media, 'run' | 'uses' | 'store' | 'poke' | 'clock'>;
  /** Absolute. */
  readonly roots: readonly string[];
  readonly logger: Logger;
}

export interface FilesCall {
  readonly id: string;
  readonly sessionKey: string;
}

export class HostFiles {
  readonly #options: HostFilesOptions;
  #count = 0;
  #waiting = 0;
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: HostFilesOptions) {
    this.#options = options;
  }

  /** Queues what may be read and sent; resolves to how many. Never rejects. */
  send(call: FilesCall, paths: readonly string[], caption: string): Promise<number> {
    if (!this.#options.media.uses(call.id) || this.#waiting >= MAX_WAITING_MESSAGES)
      return Promise.resolve(0);
    this.#waiting++;
    const sent = this.#queue.then(() => this.#send(call, paths, caption));
    this.#queue = sent.finally(() => this.#waiting--);
    return sent;
  }

  async #send(call: FilesCall, paths: readonly string[], caption: string): Promise<number> {
    const { media, logger } = this.#options;
    let taken = 0;
    for (const path of paths.slice(0, MAX_FILES)) {
      try {
        await this.#sendOne(call, path, caption);
        taken++;
      } catch {
        logger.warn({ callId: call.id }, 'a file of the host’s could not be sent to the caller');
      }
    }
    if (taken > 0) {
      // Nothing waits for a model's answer here: what belongs to a complete turn goes out now.
      await media.store.recoverReplies(media.clock.wallNow(), MAX_FILES).catch(() => {});
      media.poke();
    }
    return taken;
  }

  async #sendOne({ id, sessionKey }: FilesCall, path: string, caption: string): Promise<void> {
    const toolCallId = `host-${id}-${++this.#count}`;
    await this.#options.media.run(
      SEND_FILE,
      // Turn 0 is the call itself.
      { callId: id, sessionKey, toolCallId, turn: 0 },
      new AbortController().signal,
      async () => {
        const name = basename(path);
        const bytes = await this.#read(path);
        return {
          bytes,
          name,
          caption: caption === '' ? name : caption,
          fallback: `I have a file for you: ${name}.`,
        };
      },
    );
  }

  async #read(path: string): Promise<Uint8Array> {
    const real = await realpath(path);
    const roots = await Promise.all(this.#options.roots.map((root) => realpath(root).catch(() => null)));
    if (!roots.some((root) => root !== null && isWithin(root, real)))
      throw new Error('outside of the folders');
    const file = await open(real, 'r');
    try {
      const { size } = await file.stat();
      if (size > MAX_ATTACHMENT_BYTES) throw new Error('too large');
      return await file.readFile();
    } finally {
      await file.close();
    }
  }
}

function isWithin(root: string, path: string): boolean {
  const way = relative(root, path);
  return way !== '' && !way.startsWith('..') && !isAbsolute(way);
}
