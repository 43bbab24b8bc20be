/**
 * A `ToolGateway` whose tools run in another process, over the bridge.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import type { ErrorCode } from '../../errors.ts';
import type {
  ExecuteToolOptions,
  ToolContentBlock,
  ToolDefinition,
  ToolGateway,
  ToolResult,
} from '../contract.ts';
import type { ToolGate } from '../gate.ts';
import type { RpcPeer } from './peer.ts';
import { RPC, RpcError } from './rpc-errors.ts';
import { executeResultSchema, toolListSchema } from './wire.ts';

/** Executions that may be under way at once, over all calls. */
export const MAX_EXECUTIONS = 500;
/** Tools whose definitions are kept. */
export const MAX_DEFINITIONS = 1000;
/** How long the host's own answer is waited for after a deadline. */
export const DEADLINE_GRACE_MS = 2000;
/** Deadline of `tools/list`. */
export const LIST_TIMEOUT_MS = 10_000;

export interface RemoteToolGatewayOptions {
  readonly peer: RpcPeer;
  /** The name under which the host runs this channel. */
  readonly channel: string;
  /** Deadline of one tool for the host; the call's own ledger has another, which it keeps by aborting. */
  readonly timeoutMs: number;
  /** The key that the host knows a session by. */
  readonly sessionKey: (sessionKey: string, chatId: string) => string;
  /** Asked here, before the host is: for a host that doesn't ask it itself. */
  readonly gate: ToolGate | null;
  /** Tools that are neither shown nor run. */
  readonly hidden?: Pick<ReadonlySet<string>, 'has'>;
}

/** One execution, as it was asked for: what a gate needs to know when the host asks back. */
export interface Execution {
  readonly id: string;
  readonly sessionKey: string;
  readonly name: string;
  readonly options: ExecuteToolOptions;
  /** Runs work in the async context that asked for the execution. */
  readonly within: <T>(work: () => T) => T;
}

export class RemoteToolGateway implements ToolGateway {
  readonly #options: RemoteToolGatewayOptions;
  readonly #executions = new Map<string, Execution>();
  readonly #listeners = new Set<() => void>();
  #definitions: ToolDefinition[] = [];
  #refreshing: Promise<void> | null = null;
  #isStale = false;

  constructor(options: RemoteToolGatewayOptions) {
    this.#options = options;
  }

  get runningCount(): number {
    return this.#executions.size;
  }

  execution(id: string): Execution | undefined {
    return this.#executions.get(id);
  }

  /** Hears that the definitions are others now. */
  onChanged(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Asks for the list anew; asked for again meanwhile, it asks once more. @throws RpcError */
  refresh(): Promise<void> {
    this.#isStale = true;
    this.#refreshing ??= this.#refresh().finally(() => {
      this.#refreshing = null;
    });
    return this.#refreshing;
  }

  getToolDefinitions(): ToolDefinition[] {
    return [...this.#definitions];
  }

  /** How far an execution has got, as the host says. */
  progress(executionId: string, text: string): void {
    try {
      this.#executions.get(executionId)?.options.onProgress?.(text);
    } catch {
      // Its listener's fault; the execution goes on.
    }
  }

  executeTool(
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult> {
    if (options.channel !== this.#options.channel)
      return Promise.resolve(
        failure('GATEWAY_CHANNEL_REFUSED', 'a channel may call tools under its own name only.'),
      );
    return this.#run(sessionKey, name, args, options, false);
  }

  /**
   * Runs a call that a person approved, from whichever of the host's channels it came. One of the host's web page runs
   * under our own name: no name of ours may reach loopback.
   */
  executeApproved(
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult> {
    const channel = options.channel === 'websocket' ? this.#options.channel : options.channel;
    return this.#run(sessionKey, name, args, { ...options, channel }, true);
  }

  async #run(
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
    isApproved: boolean,
  ): Promise<ToolResult> {
    const { gate, hidden } = this.#options;
    const { channel, chatId = sessionKey, signal, callId, toolCallId } = options;
    if (hidden?.has(name))
      return failure('GATEWAY_TOOL_DENIED', `the tool '${name}' is not available in this session.`);
    if (signal?.aborted) return CANCELLED;
    if (gate?.concerns(name)) {
      const verdict = await gate.check({
        sessionKey,
        channel,
        chatId,
        name,
        args,
        ...(callId !== undefined && { callId }),
        ...(toolCallId !== undefined && { toolCallId }),
      });
      if (!verdict.run) return verdict.result;
      if (signal?.aborted) return CANCELLED;
    }
    if (this.#executions.size >= MAX_EXECUTIONS)
      return failure('HOST_UNAVAILABLE', 'too many tools are running.');
    const execution: Execution = {
      id: randomUUID(),
      sessionKey,
      name,
      options,
      within: AsyncLocalStorage.snapshot(),
    };
    this.#executions.set(execution.id, execution);
    try {
      return await this.#execute(execution, args, chatId, isApproved);
    } finally {
      this.#executions.delete(execution.id);
    }
  }

  /** Always settles: with the answer, the abort, the deadline, or the end of the connection. */
  #execute(execution: Execution, args: unknown, chatId: string, isApproved: boolean): Promise<ToolResult> {
    const { peer, timeoutMs, sessionKey } = this.#options;
    const { id: executionId, name, options } = execution;
    const { signal, channel } = options;
    return new Promise((resolve) => {
      const settle = (result: ToolResult) => {
        signal?.removeEventListener('abort', onAbort);
        resolve(result);
      };
      const onAbort = () => {
        peer.notify('tools/cancel', { executionId, reason: 'interrupted' });
        settle(CANCELLED);
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      peer
        .request(
          'tools/execute',
          {
            executionId,
            sessionKey: sessionKey(execution.sessionKey, chatId),
            channel,
            chatId,
            ...(isApproved ? {} : { senderId: chatId }),
            name,
            arguments: args ?? {},
            timeoutMs,
          },
          { timeoutMs: timeoutMs + DEADLINE_GRACE_MS, result: executeResultSchema },
        )
        .then(
          ({ output, isError }) => settle({ content: contentOf(output), isError }),
          (error: unknown) => {
            if (error instanceof RpcError && error.code === RPC.deadline)
              peer.notify('tools/cancel', { executionId, reason: 'deadline' });
            settle(failureOf(name, error));
          },
        );
    });
  }

  async #refresh(): Promise<void> {
    const { peer, hidden } = this.#options;
    while (this.#isStale) {
      this.#isStale = false;
      const { definitions } = await peer.request(
        'tools/list',
        {},
        { timeoutMs: LIST_TIMEOUT_MS, result: toolListSchema },
      );
      const kept = definitions.filter((each) => !hidden?.has(each.function.name)).slice(0, MAX_DEFINITIONS);
      if (JSON.stringify(kept) === JSON.stringify(this.#definitions)) continue;
      this.#definitions = kept;
      for (const listener of this.#listeners) listener();
    }
  }
}

/** Blocks that we know stay blocks; of any other the model gets the JSON. */
function contentOf(output: string | readonly Record<string, unknown>[]): ToolResult['content'] {
  if (typeof output === 'string') return output;
  return output.map((block): ToolContentBlock => {
    const { type, text, image_url: image } = block;
    if (type === 'text' && typeof text === 'string') return { type, text };
    if (type === 'image_url' && isImage(image)) return { type, image_url: { url: image.url } };
    return { type: 'text', text: JSON.stringify(block) };
  });
}

const isImage = (value: unknown): value is { url: string } =>
  typeof value === 'object' && value !== null && 'url' in value && typeof value.url === 'string';

const failure = (code: ErrorCode, why: string): ToolResult => ({
  content: `Error: ${code}: ${why}`,
  isError: true,
});

const CANCELLED: ToolResult = Object.freeze({ content: 'Error: the tool was cancelled.', isError: true });

/** What the model is told when an execution ended without a result. */
function failureOf(name: string, error: unknown): ToolResult {
  if (!(error instanceof RpcError))
    return failure('HOST_UNAVAILABLE', `the tool '${name}' could not be run.`);
  switch (error.code) {
    case RPC.refused:
      return failure('GATEWAY_TOOL_DENIED', error.message);
    case RPC.deadline:
      return failure('REQUEST_TIMEOUT', `the tool '${name}' did not end in time.`);
    case RPC.cancelled:
      return CANCELLED;
    case RPC.busy:
      return failure('HOST_UNAVAILABLE', 'the host is busy; try again.');
    case RPC.notPossible:
      return failure('HOST_UNAVAILABLE', error.message);
    default:
      return failure('HOST_UNAVAILABLE', `the tool '${name}' could not be run: the host is gone or failed.`);
  }
}
