/**
 * The other way to the host: a whole request for its text agent, which plans, uses tools and memory by itself.
 *
 * @module
 */

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
}

export interface AgentAnswer {
  readonly text: string;
  readonly isError: boolean;
}

export interface AgentDelegate {
  /** Resolves to the agent's answer; a failure is an answer with `isError`, never an exception. */
  ask(request: AgentRequest): Promise<AgentAnswer>;
}
