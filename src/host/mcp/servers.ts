import type { McpServerConfig } from '../config/index.ts';
import { McpServer, type McpServerOptions } from './server.ts';

/** MCP servers at most; those beyond are left out, with a line in the log. */
export const MAX_MCP_SERVERS = 32;

/** All MCP servers of the config (`tools.mcpServers`). */
export class McpServers {
  readonly #servers: readonly McpServer[];

  constructor(
    configs: Readonly<Record<string, McpServerConfig>>,
    options: Omit<McpServerOptions, 'name' | 'config'>,
  ) {
    const entries = Object.entries(configs);
    if (entries.length > MAX_MCP_SERVERS) {
      options.logger.warn({ limit: MAX_MCP_SERVERS }, 'too many MCP servers; the last ones are left out');
    }
    this.#servers = entries
      .slice(0, MAX_MCP_SERVERS)
      .map(([name, config]) => new McpServer({ ...options, name, config }));
  }

  /** Servers that are up, of all. */
  get counts(): { readonly up: number; readonly all: number } {
    return { up: this.#servers.filter((server) => server.isUp).length, all: this.#servers.length };
  }

  /** Starts all side by side; resolves when each was tried once. A server that does not start is no error. */
  async start(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.start()));
  }

  async close(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}
