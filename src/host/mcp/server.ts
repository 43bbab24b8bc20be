import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  CallToolResultSchema,
  ErrorCode,
  McpError,
  type Tool as McpTool,
  type Progress,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { type Clock, delay } from '../../clock.ts';
import type { ToolResult } from '../../gateway/index.ts';
import type { Logger } from '../../observe/index.ts';
import type { McpServerConfig } from '../config/index.ts';
import type { SsrfPolicy } from '../guards/ssrf-policy.ts';
import type { ToolRegistry } from '../registry.ts';
import { type ToolArguments, type ToolCallOptions, toolError } from '../registry-tool.ts';
import {
  MAX_TOOLS_PER_SERVER,
  MCP_RESTART_DELAYS_MS,
  MCP_STABLE_MS,
  MCP_START_TIMEOUT_MS,
} from './limits.ts';
import { isEnabled, progressText, registryTool, toToolResult } from './tool.ts';
import { openTransport } from './transport.ts';

/** Longest error text of a server that is passed on. */
const MAX_ERROR_CHARS = 500;
/** The SDK's own deadline; ours is on the clock and always shorter. */
const NO_SDK_TIMEOUT_MS = 2 ** 31 - 1;

export interface McpServerOptions {
  readonly name: string;
  readonly config: McpServerConfig;
  readonly registry: ToolRegistry;
  readonly ssrf: SsrfPolicy;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Connection {
  readonly client: Client;
  readonly close: () => Promise<void>;
}

/** One MCP server: started, its tools in the registry, and started again when it dies. */
export class McpServer {
  readonly #options: McpServerOptions;
  readonly #registered = new Set<string>();
  readonly #closing = new AbortController();
  #connection: Connection | null = null;
  #failures = 0;
  #upSince = 0;
  #running: Promise<void> | null = null;
  #wake: (() => void) | null = null;
  readonly #started = Promise.withResolvers<void>();

  constructor(options: McpServerOptions) {
    this.#options = options;
  }

  get isUp(): boolean {
    return this.#connection !== null;
  }

  /** Resolves after the first attempt, successful or not; later ones go on by themselves. */
  start(): Promise<void> {
    this.#running ??= this.#keepRunning();
    return this.#started.promise;
  }

  /** Ends the server and takes its tools away. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#started.resolve();
    this.#wake?.();
    await this.#running;
    for (const name of this.#registered) this.#options.registry.unregister(name);
    this.#registered.clear();
  }

  async #keepRunning(): Promise<void> {
    const { clock, logger, name } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const connection = await this.#connect();
      this.#started.resolve();
      if (connection) {
        await this.#untilDown();
        this.#connection = null;
        await connection.close();
        if (signal.aborted) return;
        if (clock.now() - this.#upSince >= MCP_STABLE_MS) this.#failures = 0;
        logger.warn({ mcpServer: name }, 'MCP server is gone; it is started again');
      }
      const wait = MCP_RESTART_DELAYS_MS[Math.min(this.#failures, MCP_RESTART_DELAYS_MS.length - 1)] ?? 0;
      this.#failures += 1;
      await delay(clock, wait, signal);
    }
  }

  #untilDown(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (this.#closing.signal.aborted) resolve();
    });
  }

  /** Resolves to `null` when the server can't be started. */
  async #connect(): Promise<Connection | null> {
    const { name, config, ssrf, clock, logger } = this.#options;
    const client = new Client({ name: 'nanobot-realtime', version: '1' });
    let dispose = async () => {};
    const close = async () => {
      await client.close().catch(() => {});
      await dispose();
    };
    let isDown = false;
    client.onclose = () => {
      isDown = true;
      if (this.#connection?.client === client) this.#wake?.();
    };
    try {
      const opened = openTransport(config, ssrf);
      dispose = opened.dispose;
      await this.#withDeadline(MCP_START_TIMEOUT_MS, this.#closing.signal, async (options) => {
        await client.connect(opened.transport, options);
        this.#register(await listTools(client, options));
      });
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => this.#refresh(client));
      if (isDown) throw new Error('it died while it started');
      this.#connection = { client, close };
      this.#upSince = clock.now();
      logger.info({ mcpServer: name, tools: this.#registered.size }, 'MCP server is up');
      return this.#connection;
    } catch {
      // The reason may quote the command line, headers or what the server printed.
      if (!this.#closing.signal.aborted)
        logger.warn({ mcpServer: name, type: config.type }, 'MCP server did not start');
      await close();
      return null;
    }
  }

  #register(tools: readonly McpTool[]): void {
    const { name: server, config, registry, logger } = this.#options;
    const enabled = tools.filter((tool) => isEnabled(config.enabledTools, server, tool.name));
    const current = new Set<string>();
    for (const tool of enabled.slice(0, MAX_TOOLS_PER_SERVER)) {
      const made = registryTool(server, tool, (...args) => this.#call(...args));
      const isTaken = registry.has(made.name) && !this.#registered.has(made.name);
      if (isTaken || current.has(made.name)) {
        logger.warn({ mcpServer: server }, 'a tool of an MCP server has the name of another and is left out');
        continue;
      }
      registry.register(made);
      current.add(made.name);
    }
    for (const name of this.#registered) if (!current.has(name)) registry.unregister(name);
    this.#registered.clear();
    for (const name of current) this.#registered.add(name);
  }

  async #refresh(client: Client): Promise<void> {
    try {
      await this.#withDeadline(MCP_START_TIMEOUT_MS, this.#closing.signal, async (options) => {
        const tools = await listTools(client, options);
        if (this.#connection?.client === client) this.#register(tools);
      });
    } catch {
      this.#options.logger.warn(
        { mcpServer: this.#options.name },
        'the tools of an MCP server could not be read',
      );
    }
  }

  async #call(
    tool: string,
    args: ToolArguments,
    { signal, onProgress }: ToolCallOptions,
  ): Promise<ToolResult> {
    const { name, config } = this.#options;
    const connection = this.#connection;
    if (!connection) {
      return toolError(`Error: The MCP server '${name}' is not running; it is being started again.`);
    }
    const request = { method: 'tools/call' as const, params: { name: tool, arguments: { ...args } } };
    const reports = onProgress && {
      onprogress: (progress: Progress) => onProgress(progressText(progress)),
    };
    try {
      return await this.#withDeadline(config.toolTimeout * 1000, signal, async (options) =>
        toToolResult(
          await connection.client.request(request, CallToolResultSchema, { ...options, ...reports }),
        ),
      );
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DeadlineError) {
        return toolError(`Error: The MCP tool did not answer within ${config.toolTimeout} seconds.`);
      }
      if (error instanceof McpError && error.code !== ErrorCode.ConnectionClosed) {
        return toolError(`Error: ${error.message.slice(0, MAX_ERROR_CHARS)}`);
      }
      // A connection that failed is no connection; over HTTP nobody else would notice.
      if (this.#connection === connection) this.#wake?.();
      return toolError(
        `Error: The MCP server '${name}' went away during the call; whether it was done is unknown.`,
      );
    }
  }

  async #withDeadline<T>(
    timeoutMs: number,
    signal: AbortSignal,
    work: (options: { signal: AbortSignal; timeout: number }) => Promise<T>,
  ): Promise<T> {
    const { clock } = this.#options;
    const deadline = new AbortController();
    const timer = clock.setTimeout(() => deadline.abort(), timeoutMs);
    try {
      const options = { signal: AbortSignal.any([signal, deadline.signal]), timeout: NO_SDK_TIMEOUT_MS };
      return await clock.track(work(options));
    } catch (error) {
      throw deadline.signal.aborted ? new DeadlineError() : error;
    } finally {
      timer.clear();
    }
  }
}

class DeadlineError extends Error {}

async function listTools(
  client: Client,
  options: { signal: AbortSignal; timeout: number },
): Promise<McpTool[]> {
  const tools: McpTool[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools(cursor === undefined ? {} : { cursor }, options);
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined && tools.length < MAX_TOOLS_PER_SERVER);
  return tools;
}
