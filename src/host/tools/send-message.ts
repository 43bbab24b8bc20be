/**
 * `send_message`: a message to a chat, through the bus. Nothing is sent but what the bus accepts.
 *
 * @module
 */

import { currentRequestContext } from '../../gateway/index.ts';
import type { OutboundMessage } from '../bus/index.ts';
import { type Tool, toolError, toolText } from '../registry-tool.ts';
import { strictParameters, textArg } from './arguments.ts';

/** Longest message. */
export const MAX_MESSAGE_CHARS = 20_000;

/** Hands a message to the bus; rejects when the bus doesn't take it. */
export type PublishOutbound = (message: OutboundMessage) => Promise<void> | void;

export function sendMessageTool(publishOutbound: PublishOutbound): Tool {
  return {
    name: 'send_message',
    description:
      'Send a written message to a chat: the current one, or another channel and chat. Not for the answer to what ' +
      'was just said; simply answer that.',
    parameters: strictParameters(
      {
        content: { type: 'string', minLength: 1, maxLength: MAX_MESSAGE_CHARS, description: 'The message' },
        channel: {
          type: 'string',
          maxLength: 200,
          description: 'Channel to send by (default: the current one)',
        },
        chat_id: {
          type: 'string',
          maxLength: 500,
          description: 'Chat to send to (default: the current one)',
        },
      },
      ['content'],
    ),
    execute: async (args) => {
      const request = currentRequestContext();
      const channel = textArg(args, 'channel') || (request?.channel ?? '');
      const chatId = textArg(args, 'chat_id') || (request?.chatId ?? '');
      if (channel === '' || chatId === '') return toolError('Error: No target channel/chat specified');
      const isSameChat = channel === request?.channel && chatId === request.chatId;
      const metadata = {
        ...(isSameChat ? request.metadata : {}),
        ...(isSameChat && request.messageId !== null ? { message_id: request.messageId } : {}),
      };
      try {
        await publishOutbound({
          channel,
          chatId,
          content: textArg(args, 'content') ?? '',
          media: [],
          metadata,
        });
      } catch (error) {
        return toolError(`Error sending message: ${error instanceof Error ? error.message : String(error)}`);
      }
      return toolText(`Message sent to ${channel}:${chatId}`);
    },
  };
}
