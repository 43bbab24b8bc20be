/**
 * What a tool is: the contract between the registry and everything registered in it.
 *
 * @module
 */

import type { JsonSchema, ToolContentBlock, ToolResult } from '../gateway/index.ts';

/** Arguments after unwrapping, casting and validation against the tool's schema. */
export type ToolArguments = Readonly<Record<string, unknown>>;

export interface ToolCallOptions {
  /** Aborted when nobody waits for the result any more; a tool stops what it can. */
  readonly signal: AbortSignal;
  /** Told how far the tool has got, in a few plain words; somebody may be waiting on a phone. */
  readonly onProgress?: (text: string) => void;
}

/**
 * What a tool may return. A bare string that starts with `Error` is a failure, as in nanobot; a tool whose good
 * results may start that way (file names do) returns a `ToolResult`.
 */
export type ToolOutput = string | readonly ToolContentBlock[] | ToolResult;

export interface Tool {
  /** Unique in the registry; `mcp_<server>_<tool>` for MCP tools. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema of type `object`. */
  readonly parameters: JsonSchema;
  /** Must run alone. */
  readonly exclusive?: boolean;
  /** May run beside other such tools; `readOnly` and not `exclusive` when left out. */
  readonly concurrencySafe?: boolean;
  /** Changes nothing. */
  readonly readOnly?: boolean;
  /** A thrown error becomes an error result; its message is what the model reads. */
  execute(args: ToolArguments, options: ToolCallOptions): Promise<ToolOutput>;
}

/** True when the tool may run beside other tools of the same session. */
export function isConcurrencySafe(tool: Tool): boolean {
  return tool.concurrencySafe ?? (tool.readOnly === true && tool.exclusive !== true);
}

/** A good result. */
export const toolText = (content: string): ToolResult => ({ content, isError: false });

/** A failure; the registry adds its hint. */
export const toolError = (content: string): ToolResult => ({ content, isError: true });
