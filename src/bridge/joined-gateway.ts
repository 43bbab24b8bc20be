/**
 * The host's tools and our own (media) as one list; of two with one name the host's counts.
 *
 * @module
 */

import type { ExecuteToolOptions, ToolDefinition, ToolGateway, ToolResult } from '../gateway/index.ts';
import type { RemoteToolGateway } from '../gateway/remote/index.ts';

export class JoinedGateway implements ToolGateway {
  readonly #remote: RemoteToolGateway;
  readonly #own: ToolGateway | null;

  constructor(remote: RemoteToolGateway, own: ToolGateway | null) {
    this.#remote = remote;
    this.#own = own;
  }

  getToolDefinitions(): ToolDefinition[] {
    const remote = this.#remote.getToolDefinitions();
    const taken = new Set(remote.map((each) => each.function.name));
    const own = this.#own?.getToolDefinitions() ?? [];
    return [...remote, ...own.filter((each) => !taken.has(each.function.name))];
  }

  executeTool(
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult> {
    const own = this.#ownOf(name);
    return own
      ? own.executeTool(sessionKey, name, args, options)
      : this.#remote.executeTool(sessionKey, name, args, options);
  }

  /** As `executeTool`, for a call that a person approved. */
  executeApproved(
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult> {
    const own = this.#ownOf(name);
    return own
      ? own.executeTool(sessionKey, name, args, options)
      : this.#remote.executeApproved(sessionKey, name, args, options);
  }

  #ownOf(name: string): ToolGateway | null {
    const has = (gateway: ToolGateway) =>
      gateway.getToolDefinitions().some((each) => each.function.name === name);
    return this.#own && has(this.#own) && !has(this.#remote) ? this.#own : null;
  }
}
