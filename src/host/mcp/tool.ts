import { createHash } from 'node:crypto';
import type { CallToolResult, Tool as McpTool, Progress } from '@modelcontextprotocol/sdk/types.js';
import type { ToolContentBlock, ToolResult } from '../../gateway/index.ts';
import type { ToolArguments, ToolCallOptions } from '../registry-tool.ts';

/** Longest name that chat and realtime models take. */
export const MAX_TOOL_NAME_CHARS = 64;
/** Longest description that is passed on. */
export const MAX_DESCRIPTION_CHARS = 4096;

/** What calls a server's tool; the server behind it may have been started again meanwhile. */
export type CallMcpTool = (
  tool: string,
  args: ToolArguments,
  options: ToolCallOptions,
) => Promise<ToolResult>;

/** `mcp_<server>_<tool>`, in letters that every model takes; one that is too long ends in a hash of itself. */
export function mcpToolName(server: string, tool: string): string {
  const name = `mcp_${server}_${tool}`.replace(/[^A-Za-z0-9_-]/g, '_');
  if (name.length <= MAX_TOOL_NAME_CHARS) return name;
  const hash = createHash('sha256').update(`${server}\0${tool}`).digest('hex').slice(0, 8);
  return `${name.slice(0, MAX_TOOL_NAME_CHARS - 9)}_${hash}`;
}

/** Whether the config's `enabledTools` names a tool: `*`, the server's own name of it, or ours. */
export function isEnabled(enabled: readonly string[], server: string, tool: string): boolean {
  return enabled.includes('*') || enabled.includes(tool) || enabled.includes(mcpToolName(server, tool));
}

export function registryTool(server: string, tool: McpTool, call: CallMcpTool) {
  return {
    name: mcpToolName(server, tool.name),
    description: (tool.description ?? tool.title ?? tool.name).slice(0, MAX_DESCRIPTION_CHARS),
    parameters: tool.inputSchema,
    // A hint of the server's, believed for one thing only: whether calls may run side by side.
    readOnly: tool.annotations?.readOnlyHint === true,
    execute: (args: ToolArguments, options: ToolCallOptions) => call(tool.name, args, options),
  };
}

/** What a server reports of its progress, in words: its own, else how much of the whole; empty when it is neither. */
export function progressText({ progress, total, message }: Progress): string {
  if (message !== undefined && message !== '') return message;
  return total !== undefined && total > 0 ? `${Math.round((100 * progress) / total)} percent` : '';
}

/** Text joined by newlines; pictures as blocks; of anything else only its kind. */
export function toToolResult(result: CallToolResult): ToolResult {
  const isError = result.isError === true;
  const blocks = result.content.map(toBlock);
  if (blocks.some((block) => block.type !== 'text')) return { content: blocks, isError };
  const text = blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
  return { content: text === '' ? '(no output)' : text, isError };
}

function toBlock(part: CallToolResult['content'][number]): ToolContentBlock {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image':
      return { type: 'image_url', image_url: { url: `data:${part.mimeType};base64,${part.data}` } };
    case 'resource':
      return {
        type: 'text',
        text: 'text' in part.resource ? part.resource.text : `[resource ${part.resource.uri}]`,
      };
    case 'resource_link':
      return { type: 'text', text: `[resource ${part.uri}]` };
    case 'audio':
      return { type: 'text', text: '[audio]' };
    default:
      return part satisfies never;
  }
}
