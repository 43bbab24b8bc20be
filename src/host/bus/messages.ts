/**
 * What travels between channels and the agent; nanobot 0.3.0, `bus/events.py`.
 *
 * @module
 */

/** From a person, through a channel, to the agent. */
export interface InboundMessage {
  readonly channel: string;
  readonly senderId: string;
  readonly chatId: string;
  readonly content: string;
  /** Paths or URLs of attachments. */
  readonly media: readonly string[];
  /** Plain JSON; echoed on what answers the message. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** Takes the place of `channel:chatId`. */
  readonly sessionKeyOverride?: string;
}

/** From the agent to a chat of a channel. */
export interface OutboundMessage {
  readonly channel: string;
  readonly chatId: string;
  readonly content: string;
  readonly media: readonly string[];
  readonly metadata: Readonly<Record<string, unknown>>;
}

/** The session a message belongs to. */
export function sessionKeyOf(
  message: Pick<InboundMessage, 'channel' | 'chatId' | 'sessionKeyOverride'>,
): string {
  return message.sessionKeyOverride ?? `${message.channel}:${message.chatId}`;
}
