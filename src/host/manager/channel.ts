/**
 * What the manager asks of a channel. Structural: a channel package need not import anything from here.
 *
 * @module
 */

import type { ToolGateway } from '../../gateway/index.ts';
import type { InboundMessage, OutboundMessage } from '../bus/index.ts';

/** The part of the bus that a channel sees. */
export interface ChannelBus {
  /** @throws VoiceError `HOST_UNAVAILABLE` when the queue is full or the bus closed */
  publishInbound(message: InboundMessage): void;
}

export interface Channel {
  /** Begins to serve and resolves when the channel has stopped; rejects when it can't go on. */
  start(): Promise<void>;
  /** Ends `start`. Idempotent. */
  stop(): Promise<void>;
  /** Delivers one message; a rejection is tried again. */
  send(message: OutboundMessage): Promise<void>;
}

/** Given to a channel that opts in, and only where a host is wired. */
export interface ChannelExtras {
  readonly toolGateway: ToolGateway;
}

/** A channel that doesn't opt in is built with the config and the bus, and nothing else. */
export interface ChannelClass<Config = never, Built extends Channel = Channel> {
  /** Its name on the bus and in the config. */
  readonly channelName: string;
  /** Opts in to `{ toolGateway }`. */
  readonly wantsToolGateway?: boolean;
  new (config: Config, bus: ChannelBus, extras?: ChannelExtras): Built;
}

/**
 * Whether a sender may use a channel, as nanobot's `BaseChannel.is_allowed`: `*` lets everybody in, else the id
 * must be in the list; an empty list denies everybody. (nanobot also asks its pairing store; this host has none.)
 */
export function isAllowed(allowFrom: readonly string[], senderId: string): boolean {
  return allowFrom.includes('*') || allowFrom.includes(senderId);
}
