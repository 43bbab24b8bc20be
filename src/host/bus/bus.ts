import { VoiceError } from '../../errors.ts';
import { BoundedQueue } from './bounded-queue.ts';
import type { InboundMessage, OutboundMessage } from './messages.ts';

/** Messages that may wait in each direction. */
export const MAX_QUEUED_MESSAGES = 1000;

/** The two queues between channels and the agent. */
export class MessageBus {
  readonly #inbound = new BoundedQueue<InboundMessage>(MAX_QUEUED_MESSAGES);
  readonly #outbound = new BoundedQueue<OutboundMessage>(MAX_QUEUED_MESSAGES);

  get inboundSize(): number {
    return this.#inbound.size;
  }

  get outboundSize(): number {
    return this.#outbound.size;
  }

  /** @throws VoiceError `HOST_UNAVAILABLE` when the queue is full or the bus closed */
  publishInbound(message: InboundMessage): void {
    if (!this.#inbound.push(message)) throw refused();
  }

  /** @throws VoiceError `HOST_UNAVAILABLE` when the queue is full or the bus closed */
  publishOutbound(message: OutboundMessage): void {
    if (!this.#outbound.push(message)) throw refused();
  }

  /** The next message for the agent; `null` when the bus is closed and empty, or `signal` aborted. */
  consumeInbound(signal?: AbortSignal): Promise<InboundMessage | null> {
    return this.#inbound.take(signal);
  }

  /** The next message for a channel; `null` when the bus is closed and empty, or `signal` aborted. */
  consumeOutbound(signal?: AbortSignal): Promise<OutboundMessage | null> {
    return this.#outbound.take(signal);
  }

  close(): void {
    this.#inbound.close();
    this.#outbound.close();
  }
}

const refused = () =>
  new VoiceError('HOST_UNAVAILABLE', 'The agent takes no message now: its queue is full or closed.');
