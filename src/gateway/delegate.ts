/**
 * The other way to the host: a whole request for its text agent, which plans, uses tools and memory by itself.
 *
 * @module
 */

import type { RequestContext } from './context.ts';

/** A live call, and the function call of its model that a request comes from. */
export type LiveCall = NonNullable<RequestContext['call']>;

export interface AgentRequest {
  /** `channel:chatId`; the answer and its steps belong to this session. */
  readonly sessionKey: string;
  readonly channel: string;
  readonly chatId: string;
  /** In plain words, complete in itself. */
  readonly text: string;
  /** The caller moved on: the agent is told to stop. */
  readonly signal: AbortSignal;
  readonly onProgress?: (text: string) => void;
  /** Whose request it is: the caller may be asked to approve what the agent does for them. */
  readonly call?: LiveCall;
}

export interface AgentAnswer {
  readonly text: string;
  readonly isError: boolean;
}

export interface AgentDelegate {
  /** Resolves to the agent's answer; a failure is an answer with `isError`, never an exception. */
  ask(request: AgentRequest): Promise<AgentAnswer>;
}

type Metadata = Readonly<Record<string, unknown>>;

interface CarriedMessage {
  readonly channel: string;
  readonly chatId: string;
  readonly metadata: Metadata;
}

/**
 * Calls of the requests under way, by the very object that is a message's metadata. Nothing that can be written down leads
 * to a call: a message that says the same in words, from whatever channel, has another object and no call.
 */
const carried = new WeakMap<Metadata, { channel: string; chatId: string; call: LiveCall }>();

/**
 * Ties a call to a message, for as long as the request is under way.
 *
 * @returns unties it
 */
export function carryCall({ channel, chatId, metadata }: CarriedMessage, call: LiveCall): () => void {
  carried.set(metadata, { channel, chatId, call: { ...call } });
  return () => void carried.delete(metadata);
}

/** The live call that a message comes from, if our own delegate sent it and still waits for the answer. */
export function carriedCall({ channel, chatId, metadata }: CarriedMessage): LiveCall | null {
  const found = carried.get(metadata);
  return found && found.channel === channel && found.chatId === chatId ? found.call : null;
}
