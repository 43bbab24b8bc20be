import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { FetchLike, Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { McpServerConfig } from '../config/index.ts';
import type { SsrfPolicy } from '../guards/ssrf-policy.ts';
import { guardedMcpFetch } from './guarded-mcp-fetch.ts';

/** Largest message of a server; a larger one ends the connection. */
export const MAX_MCP_MESSAGE_BYTES = 10 * 1024 * 1024;

export interface OpenTransport {
  readonly transport: Transport;
  /** Frees what the transport itself does not. */
  readonly dispose: () => Promise<void>;
}

/**
 * The transport a server's config asks for. A child process gets the SDK's few harmless variables (`HOME`, `PATH`,
 * `USER`…) and what the config names, nothing else of our environment; its stderr is dropped, for it may hold
 * anything.
 *
 * @throws Error when the config names no command or no readable URL
 */
export function openTransport(config: McpServerConfig, ssrf: SsrfPolicy): OpenTransport {
  switch (config.type) {
    case 'stdio': {
      if (config.command === '') throw new Error('no command');
      const transport = new StdioClientTransport({
        command: config.command,
        args: [...config.args],
        env: { ...config.env },
        stderr: 'ignore',
        maxBufferSize: MAX_MCP_MESSAGE_BYTES,
        ...(config.cwd !== null && { cwd: config.cwd }),
      });
      return { transport, dispose: async () => {} };
    }
    case 'streamableHttp': {
      const { fetch, close } = guardedMcpFetch(ssrf);
      return { transport: asTransport(streamable(config, fetch)), dispose: close };
    }
    case 'sse': {
      const { fetch, close } = guardedMcpFetch(ssrf);
      return {
        transport: new SSEClientTransport(new URL(config.url), httpOptions(config, fetch)),
        dispose: close,
      };
    }
    default:
      return config.type satisfies never;
  }
}

const httpOptions = (config: McpServerConfig, fetch: FetchLike) => ({
  fetch,
  requestInit: { headers: { ...config.headers } },
});

const streamable = (config: McpServerConfig, fetch: FetchLike) =>
  new StreamableHTTPClientTransport(new URL(config.url), httpOptions(config, fetch));

/** The SDK's own class misses its own interface by an optional property under `exactOptionalPropertyTypes`. */
function asTransport(transport: StreamableHTTPClientTransport): Transport {
  return transport as Transport;
}
