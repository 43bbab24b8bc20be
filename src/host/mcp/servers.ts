import type { McpServerConfig } from '../config/index.ts';
import type { McpServer, McpServerOptions } from './server.ts';

/** MCP servers at most; those beyond are left out, with a line in the log. */
export const MAX_MCP_SERVERS = 32;

/** All MCP servers of the config (`tools.mcpServers`). */
export class McpServers {
  readonly #configs: readonly (readonly [string, McpServerConfig])[];
  readonly #options: Omit<McpServerOptions, 'name' | 'config'>;
  #servers: readonly McpServer[] = [];
  #isClosed = false;

  constructor(
    configs: Readonly<Record<string, McpServerConfig>>,
    options: Omit<McpServerOptions, 'name' | 'config'>,
  ) {
    const entries = Object.entries(configs);
    if (entries.length > MAX_MCP_SERVERS) {
      options.logger.warn({ limit: MAX_MCP_SERVERS }, 'too many MCP servers; the last ones are left out');
    }
    this.#configs = entries.slice(0, MAX_MCP_SERVERS);
    this.#options = options;
  }

  /** Servers that are up, of all. */
  get counts(): { readonly up: number; readonly all: number } {
    return { up: this.#servers.filter((server) => server.isUp).length, all: this.#configs.length };
  }

  /** Starts all side by side; resolves when each was tried once. A server that does not start is no error. */
  async start(): Promise<void> {
    if (this.#configs.length === 0) return;
    // The protocol's SDK and its validators are a hundred and fifty files.
    const { McpServer } = await import('./server.ts');
    if (this.#isClosed) return;
    this.#servers = this.#configs.map(([name, config]) => new McpServer({ ...this.#options, name, config }));
    await Promise.all(this.#servers.map((server) => server.start()));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#servers.map((server) => server.close()));
  }
}
