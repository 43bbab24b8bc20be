/**
 * The host's text agent, asked over the message bus: a request is a message of the caller's chat, the answer is the
 * message that echoes its mark. Any nanobot host can be asked so; nothing else of it is needed. A host in this process
 * also learns which call asks, by the message's own object and by nothing that is written in it.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { type AgentAnswer, type AgentDelegate, type AgentRequest, carryCall } from '../gateway/index.ts';

/** Requests that may be under way at once, over all calls. */
export const MAX_PENDING_REQUESTS = 200;
/** Key of the mark in a message's metadata. */
export const REQUEST_MARK = 'realtime_request';

/** The part of nanobot's bus that is needed. */
export interface InboundBus {
  publishInbound(message: {
    readonly channel: string;
    readonly senderId: string;
    readonly chatId: string;
    readonly content: string;
    readonly media: readonly string[];
    readonly metadata: Readonly<Record<string, unknown>>;
    readonly sessionKeyOverride?: string;
  }): unknown;
}

export function isInboundBus(bus: unknown): bus is InboundBus {
  return (
    typeof bus === 'object' &&
    bus !== null &&
    'publishInbound' in bus &&
    typeof bus.publishInbound === 'function'
  );
}

interface Pending {
  readonly settle: (answer: AgentAnswer) => void;
  readonly onProgress: ((text: string) => void) | undefined;
}

export class BusDelegate implements AgentDelegate {
  readonly #bus: InboundBus;
  readonly #pending = new Map<string, Pending>();

  constructor(bus: InboundBus) {
    this.#bus = bus;
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  ask(request: AgentRequest): Promise<AgentAnswer> {
    const { signal, onProgress } = request;
    if (signal.aborted) return Promise.resolve(failure('the request was cancelled.'));
    if (this.#pending.size >= MAX_PENDING_REQUESTS)
      return Promise.resolve(failure('the agent has too many requests.'));
    const mark = randomUUID();
    const { channel, chatId, call } = request;
    const metadata = Object.freeze({ [REQUEST_MARK]: mark });
    const release = call ? carryCall({ channel, chatId, metadata }, call) : () => {};
    return new Promise((resolve) => {
      const settle = (answer: AgentAnswer) => {
        signal.removeEventListener('abort', onAbort);
        this.#pending.delete(mark);
        release();
        resolve(answer);
      };
      const onAbort = () => {
        settle(failure('the request was cancelled.'));
        this.#publish(request, mark, metadata, '/stop');
      };
      this.#pending.set(mark, { settle, onProgress });
      signal.addEventListener('abort', onAbort, { once: true });
      if (!this.#publish(request, mark, metadata, request.text))
        settle(failure('the agent takes no requests now.'));
    });
  }

  /**
   * A message of the agent's that answers a request, or that nobody waits for any more.
   *
   * @returns `false` when it is no answer to a request: then it is for the caller to hear
   */
  deliver(message: {
    readonly content: string;
    readonly metadata?: Readonly<Record<string, unknown>>;
  }): boolean {
    const mark = message.metadata?.[REQUEST_MARK];
    if (typeof mark !== 'string') return false;
    const pending = this.#pending.get(mark);
    // nanobot marks what it says in between so.
    if (message.metadata?._progress === true) pending?.onProgress?.(message.content);
    else pending?.settle({ text: message.content, isError: /^Error\b/.test(message.content) });
    return true;
  }

  #publish(
    { sessionKey, channel, chatId }: AgentRequest,
    mark: string,
    metadata: Readonly<Record<string, unknown>>,
    content: string,
  ): boolean {
    try {
      const isOwnSession = sessionKey === `${channel}:${chatId}`;
      const sent = this.#bus.publishInbound({
        channel,
        senderId: chatId,
        chatId,
        content,
        media: [],
        metadata,
        ...(isOwnSession ? {} : { sessionKeyOverride: sessionKey }),
      });
      // A bus across a process boundary may fail later.
      if (sent instanceof Promise) sent.catch(() => this.#lost(mark));
      return true;
    } catch {
      return false;
    }
  }

  #lost(mark: string): void {
    this.#pending.get(mark)?.settle(failure('the agent takes no requests now.'));
  }
}

const failure = (why: string): AgentAnswer => ({ text: `Error: ${why}`, isError: true });
