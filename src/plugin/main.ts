/**
 * What nanobot starts for the Agent Plugin, by `mcp.json`: an MCP server on standard input and output. Built into one file,
 * `dist/mcp-server.mjs`, because a plugin is copied without its dependencies.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { ensureToken, GatewayClient, placesOf } from './gateway-client.ts';
import { createPluginServer } from './server.ts';

function versionOf(root: string): string {
  try {
    return String(
      (JSON.parse(readFileSync(join(root, 'plugin.json'), 'utf8')) as { version?: unknown }).version,
    );
  } catch {
    return '0.0.0';
  }
}

const { PLUGIN_DATA, PLUGIN_ROOT = '' } = process.env;
if (PLUGIN_DATA === undefined) {
  process.stderr.write('PLUGIN_DATA is not set: nanobot starts this, by mcp.json.\n');
  process.exit(2);
}
const places = placesOf(PLUGIN_DATA);
ensureToken(places.tokenFile);
const server = createPluginServer(new GatewayClient(places), versionOf(PLUGIN_ROOT));
// The host that started us is gone: so are we.
process.stdin.on('end', () => process.exit(0));
await server.connect(new StdioServerTransport());
