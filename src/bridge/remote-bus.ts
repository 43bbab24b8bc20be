/**
 * nanobot's bus, as far as the channel needs it, over the bridge: requests for the text agent go out, and a tool that
 * the agent runs for one can be led back to the call that asked.
 *
 * @module
 */

import { REQUEST_MARK } from '../channel/index.ts';
import { carriedCall, type LiveCall } from '../gateway/index.ts';
import { RPC, RpcError } from '../gateway/remote/index.ts';
import type { HostLink } from './host-link.ts';

/** Key of the call in a message's metadata: what the agent does for it later, or after our restart, still names it. */
export const CALL_MARK = 'realtime_call';
/** Requests whose call is remembered. */
export const MAX_REMEMBERED_REQUESTS = 200;

interface BusMessage {
  readonly channel: string;
  readonly senderId: string;
  readonly chatId: string;
  readonly content: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly sessionKeyOverride?: string;
}

/** Who asks the agent, by the mark of a request that is under way. */
export interface AskingCall extends LiveCall {
  readonly sessionKey: string;
  readonly channel: string;
  readonly chatId: string;
}

export class RemoteBus {
  readonly #link: HostLink;
  readonly #isOpen: () => boolean;
  readonly #requests = new Map<string, BusMessage>();

  /** @param isOpen - whether the agent may be set to work now */
  constructor(link: HostLink, isOpen: () => boolean = () => true) {
    this.#link = link;
    this.#isOpen = isOpen;
  }

  /** Requests remembered; for leak tests. */
  get remembered(): number {
    return this.#requests.size;
  }

  /** @throws RpcError when the host does not take it */
  publishInbound(message: BusMessage): Promise<void> {
    const { channel, chatId, senderId, content, metadata, sessionKeyOverride } = message;
    const sessionKey = this.#link.sessionKey(sessionKeyOverride ?? `${channel}:${chatId}`, chatId);
    const from = { sessionKey, chatId, senderId };
    if (content === '/stop') return this.#link.stop(from);
    if (!this.#isOpen())
      return Promise.reject(new RpcError('The approvals do not reach what the agent does.', RPC.refused));
    this.#remember(message);
    const callId = carriedCall(message)?.callId;
    return this.#link.ask(from, content, callId ? { ...metadata, [CALL_MARK]: callId } : metadata);
  }

  /** The call behind a request that is still waited for. */
  callOf(mark: string): AskingCall | null {
    const message = this.#requests.get(mark);
    const call = message && carriedCall(message);
    if (!message || !call) return null;
    const { channel, chatId, sessionKeyOverride } = message;
    return { ...call, channel, chatId, sessionKey: sessionKeyOverride ?? `${channel}:${chatId}` };
  }

  #remember(message: BusMessage): void {
    const mark = message.metadata[REQUEST_MARK];
    if (typeof mark !== 'string') return;
    this.#requests.set(mark, message);
    for (const oldest of this.#requests.keys()) {
      if (this.#requests.size <= MAX_REMEMBERED_REQUESTS) break;
      this.#requests.delete(oldest);
    }
  }
}
