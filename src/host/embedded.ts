/**
 * The embedded host: a small nanobot of our own, put together from the config.
 *
 * @module
 */

import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { Clock } from '../clock.ts';
import { isGateOn } from '../config-approvals.ts';
import { isVoiceError, VoiceError } from '../errors.ts';
import type { ToolGate, ToolGateway } from '../gateway/index.ts';
import type { Media } from '../media/index.ts';
import type { Logger } from '../observe/index.ts';
import type { Store } from '../store/index.ts';
import { MessageBus } from './bus/index.ts';
import { type ChatFetch, type ChatModel, chatEndpoint, createChatModel } from './chat/index.ts';
import type { LoadedConfig } from './config/index.ts';
import { FileStateStore } from './guards/file-states.ts';
import { SsrfPolicy } from './guards/ssrf-policy.ts';
import { WorkspacePolicy } from './guards/workspace-policy.ts';
import { AgentLoop, type BusCommands, readPersona } from './loop/index.ts';
import { ChannelManager } from './manager/index.ts';
import { McpServers } from './mcp/index.ts';
import { ToolRegistry } from './registry.ts';
import { projectTurns, rowText, Sessions } from './sessions/index.ts';
import { createBuiltinTools } from './tools/index.ts';
import { createMediaTools } from './tools/media/index.ts';

export interface EmbeddedHostOptions {
  readonly config: LoadedConfig;
  /** Open, and closed by whoever opened it. */
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Other processes run the same host on the same folders. @defaultValue false */
  readonly isShared?: boolean;
  /** Takes what media tools make; without it there are none. */
  readonly media?: Media | null;
  /** Further places that no tool may reach, besides the config file, the data folder and the recordings. */
  readonly reservedRoots?: readonly string[];
  /** The gate in front of every tool, and the messages that decide; has to be there when the config has a gate. */
  readonly approvals?: (BusCommands & { readonly gate: ToolGate }) | null;
  /** Reaches the language model that answers text; for tests. */
  readonly chatFetch?: ChatFetch;
}

/** One thing said in a session, for telling a model about the past. */
export interface SpokenItem {
  readonly role: 'user' | 'assistant';
  readonly text: string;
}

export interface EmbeddedHost {
  readonly bus: MessageBus;
  readonly registry: ToolRegistry;
  readonly sessions: Sessions;
  /** The whole gateway; a channel gets a facade of it from `channels`. */
  readonly gateway: ToolGateway;
  /** Add channels, then `startAll()`. */
  readonly channels: ChannelManager;
  /** Language model that answers text, e.g. `gpt-x`; `null` when the config names none. */
  readonly textModel: string | null;
  /** MCP servers that are up, of all. */
  readonly mcpServers: { readonly up: number; readonly all: number };
  /** Who the agent is, by the workspace's persona files; empty when there are none. */
  persona(): Promise<string>;
  /** The last `limit` things said in a session, spoken and written, oldest first. */
  history(sessionKey: string, limit: number): Promise<SpokenItem[]>;
  /** Brings the session files up to date with the store; asked for again while it runs, it runs once more. Never rejects. */
  projectTurns(): Promise<void>;
  /** Stops channels, turns, MCP servers, in this order; not the store. Idempotent. */
  close(): Promise<void>;
}

/**
 * Puts the host together, repairs the session files from the store and starts to answer text. MCP servers start
 * meanwhile; their tools appear when they are up.
 *
 * @throws VoiceError `STORE_UNAVAILABLE`, `HOST_UNAVAILABLE` when a folder can't be made
 */
export async function createEmbeddedHost(options: EmbeddedHostOptions): Promise<EmbeddedHost> {
  const { config, store, clock, logger, approvals = null } = options;
  const { host, realtime } = config;
  checkGate(config, approvals !== null);
  await makeFolders(config);

  const bus = new MessageBus();
  const ssrf = new SsrfPolicy({ whitelist: host.tools.ssrfWhitelist });
  const registry = createRegistry(options, bus, ssrf);
  const sessions = new Sessions({
    directory: join(host.dataDir, 'sessions'),
    clock,
    isShared: options.isShared ?? false,
    turnsOf: (key, limit) => store.listTurns(key, limit),
  });
  const endpoint = chatEndpoint(host);
  const model: ChatModel | null = endpoint && createChatModel(endpoint, clock, options.chatFetch);
  const loop = new AgentLoop({
    bus,
    registry,
    sessions,
    fileStates: new FileStateStore(),
    workspace: host.workspace,
    restrictToWorkspace: host.restrictToWorkspace,
    clock,
    logger,
    model,
    maxIterations: host.agent.maxToolIterations,
    unifiedSession: host.agent.unifiedSession,
    gate: approvals?.gate ?? null,
    commands: approvals,
  });
  const channels = new ChannelManager({
    bus,
    clock,
    logger,
    agentLoop: loop,
    sendMaxRetries: host.sendMaxRetries,
    tools: { [REALTIME]: realtime.tools },
  });
  const mcp = new McpServers(host.mcpServers, { registry, ssrf, clock, logger });
  const project = coalesced(() => projectTurns(store, sessions), logger);

  await store.closeStaleCalls(clock.wallNow());
  await project();
  loop.start();
  void mcp.start();

  let closing: Promise<void> | null = null;
  const close = async () => {
    await channels.stopAll();
    await loop.stop();
    bus.close();
    await mcp.close();
    await project();
    await sessions.flush();
  };
  return {
    bus,
    registry,
    sessions,
    gateway: loop,
    channels,
    textModel: endpoint?.model ?? null,
    get mcpServers() {
      return mcp.counts;
    },
    persona: () => readPersona(host.workspace),
    history: (sessionKey, limit) => historyOf(sessions, sessionKey, limit),
    projectTurns: project,
    close() {
      closing ??= close();
      return closing;
    },
  };
}

/** A gate must not fail open, and must not have a way around it. */
function checkGate({ realtime, host, path }: LoadedConfig, isWired: boolean): void {
  const { toolGate } = realtime.approvals;
  if (!isGateOn(toolGate)) return;
  if (!isWired)
    throw new VoiceError(
      'CONFIG_INVALID',
      `${path}: channels.realtime.approvals: this host was started without its gate.`,
    );
  if (host.tools.exec.enable && !toolGate.unsafe) {
    throw new VoiceError(
      'CONFIG_INVALID',
      `${path}: tools.exec is on beside channels.realtime.approvals.toolGate, and there is no sandbox: a shell can do by ` +
        'other means what the gate holds back. Turn tools.exec off, or write "unsafe": true in toolGate.',
    );
  }
}

const REALTIME = 'realtime';

async function makeFolders({ host }: LoadedConfig): Promise<void> {
  try {
    await mkdir(host.workspace, { recursive: true });
    await mkdir(host.dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    const message = `The workspace ${host.workspace} or the data folder ${host.dataDir} can't be made.`;
    throw new VoiceError('HOST_UNAVAILABLE', message, { cause: error });
  }
}

function createRegistry(options: EmbeddedHostOptions, bus: MessageBus, ssrf: SsrfPolicy): ToolRegistry {
  const { config, clock, reservedRoots = [] } = options;
  const { host, realtime } = config;
  const { exec, file, web } = host.tools;
  const recordings = realtime.recording.directory;
  const policy = new WorkspacePolicy({
    workspace: host.workspace,
    reservedRoots: [
      config.path,
      host.dataDir,
      // Plugins keep their tokens there.
      join(dirname(host.dataDir), 'plugin-data'),
      ...(recordings ? [resolve(recordings)] : []),
      ...reservedRoots,
    ],
  });
  const registry = new ToolRegistry();
  const tools = createBuiltinTools({
    policy,
    ssrf,
    clock,
    file,
    web,
    timezone: realtime.timezone ?? null,
    publishOutbound: (message) => bus.publishOutbound(message),
    exec: {
      enable: exec.enable,
      allowedEnvKeys: exec.allowedEnvKeys,
      denyPatterns: exec.denyPatterns,
      allowPatterns: exec.allowPatterns,
      ...(exec.timeoutS !== null && { timeoutS: exec.timeoutS }),
    },
  });
  for (const tool of tools) registry.register(tool);
  if (options.media) {
    const listed = realtime.tools.authorization.map(({ tool }) => tool);
    for (const tool of createMediaTools(options.media, { policy, listed })) registry.register(tool);
  }
  return registry;
}

async function historyOf(sessions: Sessions, sessionKey: string, limit: number): Promise<SpokenItem[]> {
  const { rows } = await sessions.get(sessionKey);
  const items = rows.flatMap((row): SpokenItem[] => {
    const text = rowText(row);
    return row.role === 'tool' || text === '' ? [] : [{ role: row.role, text }];
  });
  return limit > 0 ? items.slice(-limit) : [];
}

/** One run at a time, and one more for all who asked meanwhile; a failure is logged, the next run makes it good. */
function coalesced(work: () => Promise<unknown>, logger: Logger): () => Promise<void> {
  const run = async () => {
    try {
      await work();
    } catch (error) {
      const code = isVoiceError(error) ? error.code : null;
      logger.warn({ code }, 'session files could not be brought up to date');
    }
  };
  let isWanted = false;
  let running: Promise<void> | null = null;
  const untilNobodyAsks = async () => {
    do {
      isWanted = false;
      await run();
    } while (isWanted);
    running = null;
  };
  return () => {
    isWanted = true;
    running ??= untilNobodyAsks();
    return running;
  };
}
