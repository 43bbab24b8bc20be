/**
 * A chat of the host's other channels: nanobot's `OutboundMessage.media`, a message with paths of files.
 *
 * @module
 */

import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { DeliveryRoute } from './contract.ts';

export interface ChannelMessage {
  readonly channel: string;
  readonly chatId: string;
  readonly content: string;
  readonly media: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

export interface ChannelRouteOptions {
  /** Hands the message to the host's bus; throws when it does not take it. */
  readonly publish: (message: ChannelMessage) => Promise<void> | void;
  /** Folder for the files, which channels read by their name's ending. */
  readonly directory: string;
}

export function channelRoute({ publish, directory }: ChannelRouteOptions): DeliveryRoute {
  return {
    route: 'channel',
    async send({ row, address, load }) {
      const { attachment, bytes } = await load();
      const split = address.indexOf(':');
      const folder = join(directory, row.deliveryId);
      const path = join(folder, attachment.name);
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        await writeFile(path, bytes, { mode: 0o600 });
        await publish({
          channel: address.slice(0, split),
          chatId: address.slice(split + 1),
          content: row.caption,
          media: [path],
          metadata: {},
        });
        return { kind: 'accepted' };
      } catch {
        await rm(folder, { recursive: true, force: true });
        return { kind: 'failed', error: 'unavailable' };
      }
    },
    // The bus keeps nothing that could be asked.
    reconcile: async () => 'unknown',
  };
}
