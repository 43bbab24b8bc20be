import { isVoiceError } from '../../errors.ts';
import {
  type ExecuteToolOptions,
  type RequestContext,
  runGuarded,
  type ToolDefinition,
  type ToolGate,
  type ToolGateway,
  type ToolResult,
  type WorkspaceScope,
} from '../../gateway/index.ts';
import type { FileStateStore } from '../guards/file-states.ts';
import { ERROR_HINT, type ToolRegistry } from '../registry.ts';
import { isConcurrencySafe, toolError } from '../registry-tool.ts';
import type { Session, Sessions } from '../sessions/index.ts';
import { ToolLock } from './tool-lock.ts';

/** Longest text of a result; what is over is cut off with a marker. nanobot's own bound for a session's row. */
export const MAX_TOOL_RESULT_CHARS = 16_000;

export interface ToolRunnerOptions {
  readonly registry: ToolRegistry;
  readonly sessions: Pick<Sessions, 'get'>;
  readonly fileStates: FileStateStore;
  readonly workspace: string;
  readonly restrictToWorkspace: boolean;
  /** Stands in front of every tool; without one nothing is gated. */
  readonly gate?: ToolGate | null;
}

/**
 * The one way to a tool, for a text turn and for a call through the gateway alike: the session's policy, its turn
 * among the session's other calls, the three contexts, the registry, the bounds of a result.
 */
export class ToolRunner implements ToolGateway {
  readonly #options: ToolRunnerOptions;
  readonly #lock = new ToolLock();

  constructor(options: ToolRunnerOptions) {
    this.#options = options;
  }

  getToolDefinitions(): ToolDefinition[] {
    return this.#options.registry.getDefinitions();
  }

  /** Sessions with tool calls under way; for leak tests. */
  get activeSessions(): number {
    return this.#lock.size;
  }

  async executeTool(
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult> {
    const { registry } = this.#options;
    const tool = registry.get(name);
    const turn = await this.#lock.acquire(
      sessionKey,
      tool === null || isConcurrencySafe(tool),
      options.signal,
    );
    switch (turn) {
      case 'go':
        try {
          return bounded(await this.#run(sessionKey, name, args, options));
        } finally {
          this.#lock.release(sessionKey);
        }
      case 'aborted':
        // The registry says what a cancelled call is told.
        return registry.execute(name, args, options.signal ? { signal: options.signal } : {});
      case 'full':
        return failure(name, 'too many calls of this session are waiting');
      default:
        return turn satisfies never;
    }
  }

  async #run(
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult> {
    const { registry, sessions, fileStates } = this.#options;
    const { channel, chatId, signal, onProgress } = options;
    try {
      const session = await sessions.get(sessionKey);
      if (disabledTools(session).includes(name))
        return failure(name, 'the tool is switched off in this session');
      const refused = await this.#refused(sessionKey, name, args, options);
      if (refused) return refused;
      return await runGuarded(
        {
          fileStates: fileStates.forSession(sessionKey),
          request: {
            channel,
            chatId: chatId ?? sessionKey,
            messageId: null,
            sessionKey,
            metadata: {},
            ...callOf(options),
          },
          workspaceScope: this.#scopeFor(channel),
        },
        () => registry.execute(name, args, { ...(signal && { signal }), ...(onProgress && { onProgress }) }),
      );
    } catch (error) {
      // A session that can't be read has a policy that we don't know: nothing runs.
      return failure(name, isVoiceError(error) ? error.message : 'the host failed');
    }
  }

  /** What the gate says in the tool's place; `null` when the tool may run. */
  async #refused(
    sessionKey: string,
    name: string,
    args: unknown,
    { channel, chatId, callId, toolCallId }: ExecuteToolOptions,
  ): Promise<ToolResult | null> {
    const { gate } = this.#options;
    if (!gate?.concerns(name)) return null;
    const verdict = await gate.check({
      sessionKey,
      channel,
      chatId: chatId ?? sessionKey,
      name,
      args,
      ...(callId !== undefined && { callId }),
      ...(toolCallId !== undefined && { toolCallId }),
    });
    return verdict.run ? null : verdict.result;
  }

  /** As nanobot's `for_turn`: only `websocket` is told by name; every other channel gets the default scope. */
  #scopeFor(channel: string): WorkspaceScope {
    const { workspace, restrictToWorkspace } = this.#options;
    return { workspace, restrictToWorkspace, sourceChannel: channel === 'websocket' ? channel : null };
  }
}

/** The live call that asks, as far as it is known. */
function callOf({ callId, toolCallId, turn }: ExecuteToolOptions): Pick<RequestContext, 'call'> {
  if (callId === undefined || toolCallId === undefined) return {};
  return { call: { callId, toolCallId, ...(turn !== undefined && { turn }) } };
}

const failure = (name: string, why: string): ToolResult =>
  toolError(`Error executing ${name}: ${why}${ERROR_HINT}`);

/** Tools that the session's policy switches off (`policy.disabled_tools`). */
export function disabledTools(session: Pick<Session, 'metadata'>): readonly string[] {
  const { policy } = session.metadata;
  const list =
    typeof policy === 'object' && policy !== null && 'disabled_tools' in policy
      ? policy.disabled_tools
      : null;
  return Array.isArray(list) ? list.filter((name) => typeof name === 'string') : [];
}

/** nanobot's runner does both to what a tool gave: no empty result, none without an end. */
function bounded(result: ToolResult): ToolResult {
  const { content, isError } = result;
  if (typeof content !== 'string') {
    return content.length === 0 ? { content: NO_OUTPUT, isError } : result;
  }
  if (content.trim() === '') return { content: NO_OUTPUT, isError };
  if (content.length <= MAX_TOOL_RESULT_CHARS) return result;
  const cut = content.length - MAX_TOOL_RESULT_CHARS;
  const kept = content.slice(0, MAX_TOOL_RESULT_CHARS).replace(/[\uD800-\uDBFF]$/, '');
  return { content: `${kept}\n\n[… ${cut} characters cut off]`, isError };
}

const NO_OUTPUT = '(tool completed with no output)';
