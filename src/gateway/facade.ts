/**
 * What a channel that opts in receives: two functions on a frozen object, bound to the channel's own name and to
 * its session's `tools.allow/deny`. Nothing else of the host can be reached through it.
 *
 * @module
 */

import picomatch from 'picomatch';
import type { ErrorCode } from '../errors.ts';
import type { ExecuteToolOptions, ToolDefinition, ToolGateway, ToolResult } from './contract.ts';

export interface ToolGatewayFacadeOptions {
  /** The one channel name that calls may carry. */
  readonly channel: string;
  /** Exact names and globs of tools that are seen and may run; all when left out. */
  readonly allow?: readonly string[];
  /** Exact names and globs of tools that are neither seen nor run, whatever `allow` says. */
  readonly deny?: readonly string[];
}

/** Texts start with the code, so that a model reads what happened and a log can count it. */
const refusal = (code: ErrorCode, why: string): ToolResult =>
  Object.freeze({ content: `Error: ${code}: ${why}`, isError: true });

/** `*` alone matches every name; tool names have no folders, so a dot or a slash in one is nothing special. */
export function toolMatcher(patterns: readonly string[]): (name: string) => boolean {
  const matchers = patterns.map((pattern) => picomatch(pattern, { dot: true, bash: true }));
  const exact = new Set(patterns);
  return (name) => exact.has(name) || matchers.some((matches) => matches(name));
}

/** A copy, so that what the channel does to its result changes nothing in the host. */
function detached(result: ToolResult): ToolResult {
  const { content, isError } = result;
  return { content: typeof content === 'string' ? content : structuredClone(content), isError };
}

/** A function that leads nowhere: without a prototype there is no `constructor`, no `caller`, nothing to patch. */
function sealed<F extends object>(fn: F): F {
  return Object.freeze(Object.setPrototypeOf(fn, null) as F);
}

/**
 * Narrows a gateway to one channel.
 *
 * @returns a frozen object of two functions, nothing with a prototype. Neither ever throws: a call under another
 * channel's name, under `websocket`, or of a tool that is not allowed is a `ToolResult` with `isError` and a
 * coded text
 */
export function createToolGatewayFacade(
  gateway: ToolGateway,
  { channel, allow = ['*'], deny = [] }: ToolGatewayFacadeOptions,
): ToolGateway {
  const allowed = toolMatcher(allow);
  const denied = toolMatcher(deny);
  const mayRun = (name: string) => allowed(name) && !denied(name);

  const getToolDefinitions = (): ToolDefinition[] => {
    try {
      return structuredClone(gateway.getToolDefinitions().filter((each) => mayRun(each.function.name)));
    } catch {
      return [];
    }
  };

  const executeTool = async (
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult> => {
    try {
      // Read once: a getter may not give another answer to the check than to the call.
      const { channel: claimed, chatId, signal, callId, toolCallId, turn, onProgress } = options;
      if (claimed !== channel || claimed === 'websocket') {
        return refusal('GATEWAY_CHANNEL_REFUSED', 'a channel may call tools under its own name only.');
      }
      const texts = [sessionKey, name, chatId ?? '', callId ?? '', toolCallId ?? ''].every(
        (each) => typeof each === 'string',
      );
      if (!texts || (turn !== undefined && !Number.isSafeInteger(turn)))
        return refusal('REQUEST_INVALID', 'session key, chat id and name of the tool must be text.');
      if (!mayRun(name)) {
        return refusal('GATEWAY_TOOL_DENIED', `the tool '${name}' is not available in this session.`);
      }
      // Copies of both: an object of the channel's own making would be handed the host's callbacks.
      const result = await gateway.executeTool(sessionKey, name, structuredClone(args), {
        channel,
        ...(chatId !== undefined && { chatId }),
        ...(signal !== undefined && { signal: AbortSignal.any([signal]) }),
        ...(callId !== undefined && { callId }),
        ...(toolCallId !== undefined && { toolCallId }),
        ...(turn !== undefined && { turn }),
        ...(onProgress !== undefined && { onProgress: sealed((text: string) => onProgress(String(text))) }),
      });
      return detached(result);
    } catch {
      // What was thrown stays here: an error can carry the host along in its properties.
      return refusal('HOST_UNAVAILABLE', 'the tool could not be run.');
    }
  };

  return Object.freeze(
    Object.assign(Object.create(null) as object, {
      getToolDefinitions: sealed(getToolDefinitions),
      executeTool: sealed(executeTool),
    }),
  );
}
