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
import type { Store } from '../store/index.ts';

/** Files of one message; more are left out. */
export const MAX_FILES = 10;
/** Messages whose files may wait for those of others: they are read one after another. */
export const MAX_WAITING_MESSAGES = 20;
/** The media tool that this counts as: who may not use it gets no files of the host's either. */
const SEND_FILE = 'send_file';

export interface HostFilesOptions {
  readonly media: Pick<Media, 'run' | 'uses' | 'store' | 'poke' | 'clock'>;
  readonly store: Pick<Store, 'openTurn' | 'commitTurn'>;
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
    const { media, store, logger } = this.#options;
    // A turn of its own, below those of the caller, and over at once: there is no answer of a model's to wait for.
    const turn = -++this.#count;
    let taken = 0;
    try {
      const at = media.clock.wallNow();
      await store.openTurn({ callId: call.id, turn, sessionKey: call.sessionKey, startedAt: at });
      await store.commitTurn(call.id, turn, { finalAt: at });
      for (const path of paths.slice(0, MAX_FILES)) {
        if (await this.#sendOne(call, turn, path, caption)) taken++;
      }
      if (taken > 0) await media.store.recoverReplies(media.clock.wallNow(), MAX_FILES);
    } catch {
      logger.warn({ callId: call.id }, 'the host’s files for the caller could not be written down');
    }
    if (taken > 0) media.poke();
    return taken;
  }

  async #sendOne(call: FilesCall, turn: number, path: string, caption: string): Promise<boolean> {
    const { media, logger } = this.#options;
    const { id: callId, sessionKey } = call;
    const toolCallId = `host-${callId}-${++this.#count}`;
    try {
      await media.run(
        SEND_FILE,
        { callId, sessionKey, toolCallId, turn },
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
      return true;
    } catch {
      logger.warn({ callId }, 'a file of the host’s could not be sent to the caller');
      return false;
    }
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
