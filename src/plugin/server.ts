/**
 * The MCP server of the Agent Plugin: three tools that read, none that acts.
 *
 * @module
 */

import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { type GatewayClient, GatewayError } from './gateway-client.ts';

const READS = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false };

export function createPluginServer(client: Pick<GatewayClient, 'get'>, version: string): McpServer {
  const server = new McpServer({ name: 'nanobot-channel-realtime', version });
  const read = async (path: string): Promise<CallToolResult> => {
    try {
      return { content: [{ type: 'text', text: JSON.stringify(await client.get(path), null, 2) }] };
    } catch (error) {
      const text = error instanceof GatewayError ? error.message : 'The voice gateway could not be read.';
      return { isError: true, content: [{ type: 'text', text }] };
    }
  };
  server.registerTool(
    'list_calls',
    {
      description:
        'Lists recent phone and web calls, newest first: when, how they ended, whether the owner called.',
      inputSchema: { limit: z.int().min(1).max(50).default(20).describe('How many, 1 to 50') },
      annotations: READS,
    },
    ({ limit }) => read(`/plugin/api/calls?limit=${limit}`),
  );
  server.registerTool(
    'read_call_transcript',
    {
      description:
        'Reads what was said and heard on one of the owner’s own calls. Calls of other people can not be read.',
      inputSchema: {
        call_id: z
          .string()
          .regex(/^[0-9a-f]{32}$/)
          .describe('Id of the call, from list_calls'),
      },
      annotations: READS,
    },
    ({ call_id }) => read(`/plugin/api/calls/${call_id}/transcript`),
  );
  server.registerTool(
    'list_waiting_approvals',
    {
      description: 'Lists the actions that wait for a person to approve them. It decides nothing.',
      inputSchema: {},
      annotations: READS,
    },
    () => read('/plugin/api/approvals'),
  );
  return server;
}
