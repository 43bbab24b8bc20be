/**
 * What the channel asks of its host, besides tools: docs/reference/bridge.md.
 *
 * @module
 */

import {
  allowedResultSchema,
  appendResultSchema,
  historyResultSchema,
  type Initialize,
  nothing,
  type RpcPeer,
} from '../gateway/remote/index.ts';
import type { ChannelMessage } from '../media/index.ts';
import type { HistoryItem } from '../model/index.ts';
import type { SessionRow } from './turn-rows.ts';

/** Deadline of every request that is nothing else. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** How long the host may wait for a session's lock. */
export const APPEND_TIMEOUT_MS = 30_000;
const APPEND_GRACE_MS = 5000;
/** Rows of history that a host is asked for. */
const MAX_HISTORY = 200;

/** Session key of nanobot's `agents.defaults.unifiedSession`. */
const UNIFIED_KEY = 'unified:default';
/** The chat of a caller who has none of their own is their call: 128 random bits. */
const CALL_ID = /^[0-9a-f]{32}$/;

const PLAIN = { timeoutMs: REQUEST_TIMEOUT_MS, result: nothing };

export interface AgentMessage {
  readonly sessionKey: string;
  readonly chatId: string;
  readonly senderId: string;
}

export class HostLink {
  readonly #peer: RpcPeer;
  readonly #init: Initialize;

  constructor(peer: RpcPeer, init: Initialize) {
    this.#peer = peer;
    this.#init = init;
  }

  /** The key that the host knows a session of ours by; a stranger's call is never in the owner's. */
  readonly sessionKey = (sessionKey: string, chatId: string): string => {
    const isOwn = sessionKey === `${this.#init.channel}:${chatId}` && !CALL_ID.test(chatId);
    return isOwn && this.#init.host.unifiedSession === true ? UNIFIED_KEY : sessionKey;
  };

  /** As `sessionKey`, where the chat is only known by the key. */
  hostKey(sessionKey: string): string {
    const prefix = `${this.#init.channel}:`;
    return sessionKey.startsWith(prefix)
      ? this.sessionKey(sessionKey, sessionKey.slice(prefix.length))
      : sessionKey;
  }

  /** @throws RpcError */
  async history(sessionKey: string, limit: number): Promise<HistoryItem[]> {
    if (limit < 1) return [];
    const params = { sessionKey: this.hostKey(sessionKey), limit: Math.min(limit, MAX_HISTORY) };
    const options = { timeoutMs: REQUEST_TIMEOUT_MS, result: historyResultSchema };
    const { items } = await this.#peer.request('history', params, options);
    return items.slice(-limit);
  }

  /** Whether the host lets this sender in; a host that doesn't say doesn't. */
  async isAllowed(senderId: string): Promise<boolean> {
    const options = { timeoutMs: REQUEST_TIMEOUT_MS, result: allowedResultSchema };
    return this.#peer.request('allowed', { senderId }, options).then(
      ({ allowed }) => allowed,
      () => false,
    );
  }

  /** @throws RpcError */
  async ask(message: AgentMessage, text: string, metadata: Readonly<Record<string, unknown>>): Promise<void> {
    await this.#peer.request('inbound', { ...message, text, metadata }, PLAIN);
  }

  /** @throws RpcError */
  async stop(message: AgentMessage): Promise<void> {
    await this.#peer.request('stop', message, PLAIN);
  }

  /** A message to a chat of another channel. @throws RpcError */
  async send({ channel, chatId, content, media, metadata }: ChannelMessage): Promise<void> {
    const params = { channel, chatId, content, media, metadata };
    await this.#peer.request('message/send', params, PLAIN);
  }

  /** Writes rows into the host's session, once for each key. @throws RpcError */
  async append(sessionKey: string, key: string, rows: readonly SessionRow[]): Promise<void> {
    const params = { sessionKey: this.hostKey(sessionKey), key, rows, timeoutMs: APPEND_TIMEOUT_MS };
    const options = { timeoutMs: APPEND_TIMEOUT_MS + APPEND_GRACE_MS, result: appendResultSchema };
    await this.#peer.request('session/append', params, options);
  }
}
