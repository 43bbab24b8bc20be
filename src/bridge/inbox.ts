/**
 * What the host's agent says to this channel: an answer that a call waits for, a message for a caller on the line, or
 * nothing for the ear.
 *
 * @module
 */

import { type ChannelMessage, REQUEST_MARK, type RealtimeVoiceChannel } from '../channel/index.ts';
import type { Outbound } from '../gateway/remote/index.ts';
import type { Logger } from '../observe/index.ts';
import type { HostFiles } from './host-files.ts';

export interface InboxOptions {
  readonly channel: Pick<RealtimeVoiceChannel, 'send' | 'ring' | 'desk' | 'name'>;
  readonly files: HostFiles | null;
  readonly logger: Logger;
}

export interface Handled {
  readonly handled: 'answer' | 'spoken' | 'rings' | 'progress' | 'kept' | 'dropped';
  /** Files that were taken. */
  readonly media: number;
}

export class Inbox {
  readonly #options: InboxOptions;

  constructor(options: InboxOptions) {
    this.#options = options;
  }

  /** Answers at once; what is spoken is spoken meanwhile. */
  async take(
    message: Pick<Outbound, 'chatId' | 'content' | 'media' | 'metadata' | 'kind'>,
  ): Promise<Handled> {
    const { chatId, content, kind } = message;
    // Ours decides what is progress; a mark of that name may have come along.
    const { _progress, ...metadata } = message.metadata ?? {};
    const isAsked = typeof metadata[REQUEST_MARK] === 'string';
    if (kind === 'other') return { handled: 'dropped', media: 0 };
    if (kind === 'progress') {
      if (isAsked) this.#say({ chatId, content, metadata: { ...metadata, _progress: true } });
      return { handled: isAsked ? 'progress' : 'dropped', media: 0 };
    }
    const media = await this.#sendFiles(chatId, message.media ?? [], content);
    if (isAsked) {
      this.#say({ chatId, content, metadata });
      return { handled: 'answer', media };
    }
    const { channel } = this.#options;
    if (!channel.desk?.callOfChat(chatId)) {
      const rings = content.trim() !== '' && (await channel.ring(chatId, content));
      return { handled: rings ? 'rings' : 'kept', media };
    }
    if (content.trim() !== '') this.#say({ chatId, content, metadata });
    return { handled: 'spoken', media };
  }

  #say(message: ChannelMessage): void {
    const { channel, logger } = this.#options;
    channel.send(message).catch(() => logger.warn('a message of the agent’s could not be spoken'));
  }

  async #sendFiles(chatId: string, paths: readonly string[], caption: string): Promise<number> {
    const { channel, files } = this.#options;
    const call = paths.length > 0 ? channel.desk?.callOfChat(chatId) : undefined;
    if (!call || !files) return 0;
    return files.send({ id: call.id, sessionKey: `${channel.name}:${chatId}` }, paths, caption);
  }
}
