/**
 * The gateway as `start` runs it: config, store, embedded host and channel, put together in one place.
 *
 * @module
 */

import { OperatorSecret } from '../approval/index.ts';
import { type ChannelParts, RealtimeVoiceChannel } from '../channel/index.ts';
import { realClock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import { isGateOn } from '../config-approvals.ts';
import { VoiceError } from '../errors.ts';
import {
  createEmbeddedHost,
  type EmbeddedHost,
  type LoadedConfig,
  loadConfig,
  type OutboundMessage,
} from '../host/index.ts';
import { createLogger } from '../observe/index.ts';
import type { FullStore } from '../store/index.ts';
import type { WorkerSlot } from '../worker-slot.ts';
import { createApprovalParts, createLatePart, startApprovals } from './approval-parts.ts';
import type { BannerFacts } from './banner.ts';
import { createMediaParts, withGatedFiles } from './media-parts.ts';
import { nodeName, openConfiguredStore, storeFile } from './store.ts';
import { packageVersion } from './version.ts';
import { workspaceFiles } from './workspace-files.ts';

export interface ComposeOptions {
  /** nanobot's config file; the usual one when left out. */
  readonly config?: string;
  /** Instead of `server.host` and `server.port`. */
  readonly host?: string;
  readonly port?: number;
  /** One worker process of several, behind one port. */
  readonly worker?: ComposedWorker;
}

export interface ComposedWorker {
  readonly slot: WorkerSlot;
  /** The first of a gateway: what any process before left behind is its to put in order. */
  readonly isFirst: boolean;
}

export interface Gateway {
  readonly facts: Omit<BannerFacts, 'version'>;
  activeCalls(): number;
  /** Takes no new calls, lets the running ones end within the config's bound, frees everything. */
  close(): Promise<void>;
}

/** @throws VoiceError `CONFIG_*`, `ADDRESS_IN_USE`, `STORE_*`, `PHRASE_INVALID` */
export async function compose(options: ComposeOptions): Promise<Gateway> {
  const config = withGatedFiles(
    withFlags(await loadConfig(options.config === undefined ? {} : { path: options.config }), options),
  );
  const logger = createLogger(config.realtime.logLevel);
  // What was opened, to be closed in reverse: channel, host, store.
  const undo: (() => Promise<unknown>)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    const { worker } = options;
    const slot = worker?.slot ?? null;
    const store = await openConfiguredStore(config, slot?.index ?? null);
    undo.push(() => store.close());
    if (worker) await joinWorkers(worker, config, store);
    const base: { channel: RealtimeVoiceChannel | null } = { channel: null };
    const approvals = await createApprovalParts({
      config,
      store,
      clock: realClock,
      logger,
      publicBase: () => config.realtime.server.publicUrl ?? base.channel?.address ?? null,
      worker: worker ? { index: worker.slot.index, isFirst: worker.isFirst } : null,
    });
    const secret = new OperatorSecret(config.host.dataDir);
    const newToken = await secret.open(realClock.wallNow());
    const bus: { publish: (message: OutboundMessage) => Promise<void> | void } = { publish: () => {} };
    const media = await createMediaParts({
      config,
      store,
      clock: realClock,
      logger,
      publish: (message) => bus.publish(message),
      isJoining: worker?.isFirst === false,
    });
    if (media) undo.push(() => media.close());
    const late = approvals ? null : createLatePart(config, realClock, logger);
    if (late) undo.push(async () => late.close());
    const host = await createEmbeddedHost({
      config,
      store,
      clock: realClock,
      logger,
      approvals: approvals ?? late?.hostPart ?? null,
      media,
      isShared: slot !== null,
    });
    bus.publish = (message) => host.bus.publishOutbound(message);
    undo.push(() => host.close());
    if (approvals) {
      undo.push(() => approvals.close());
      await startApprovals(approvals, host, logger);
    }
    const channel = await addChannel(config.realtime, host, {
      clock: realClock,
      logger,
      store,
      dataDirectory: config.host.dataDir,
      history: (sessionKey, limit) => host.history(sessionKey, limit),
      onTurnFinal: () => void host.projectTurns(),
      operator: { approvals, secret },
      slot,
      version: packageVersion(),
      plugin: { workspace: config.host.workspace },
      ...(media ? { media } : {}),
      slotValues: async (slot) => (slot === 'file' ? workspaceFiles(config.host.workspace) : []),
    });
    base.channel = channel;
    undo.push(() => channel.stop());
    // Before the manager serves it, so that what stops it from listening is thrown here, with its code.
    await channel.listen();
    host.channels.startAll();
    return {
      facts: {
        ...factsOf(config, host, channel),
        ...pagesOf(config.realtime, channel, newToken),
      },
      activeCalls: () => channel.desk?.activeCalls ?? 0,
      close,
    };
  } catch (error) {
    await close().catch(() => {});
    throw error;
  }
}

/** Calls of workers that are gone are written off: all of them at the start of the gateway, and each one's when it dies. */
async function joinWorkers(
  { slot, isFirst }: ComposedWorker,
  config: LoadedConfig,
  store: FullStore,
): Promise<void> {
  if (isFirst) await store.closeStaleCalls(realClock.wallNow(), nodeName(config, null));
  slot.answers('bury', ({ slot: dead, diedAt }) => store.closeStaleCalls(diedAt, nodeName(config, dead)));
}

export function withFlags(loaded: LoadedConfig, options: ComposeOptions): LoadedConfig {
  const { realtime } = loaded;
  if (!realtime.enabled) {
    throw new VoiceError('CONFIG_INVALID', `${loaded.path}: channels.realtime.enabled is false.`);
  }
  const { host = realtime.server.host, port = realtime.server.port } = options;
  return { ...loaded, realtime: { ...realtime, server: { ...realtime.server, host, port } } };
}

/** The manager builds the channel, and hands it the gateway that it opts in to; the parts are ours to add. */
async function addChannel(
  config: RealtimeConfig,
  host: EmbeddedHost,
  parts: ChannelParts,
): Promise<RealtimeVoiceChannel> {
  const persona = await host.persona();
  class EmbeddedChannel extends RealtimeVoiceChannel {
    constructor(...[section, bus, extras]: ConstructorParameters<typeof RealtimeVoiceChannel>) {
      super(section, bus, { ...extras, parts: { ...parts, ...(persona === '' ? {} : { persona }) } });
    }
  }
  const channel = host.channels.add(EmbeddedChannel, config);
  if (!(channel instanceof RealtimeVoiceChannel)) throw new TypeError('The manager built another channel.');
  return channel;
}

/** Where the pages are; the operator's token where it was made just now. */
function pagesOf(
  { page, approvals, server }: RealtimeConfig,
  channel: RealtimeVoiceChannel,
  newToken: string | null,
): Pick<Gateway['facts'], 'page' | 'operator'> {
  if (!page.enabled && !isGateOn(approvals.toolGate)) return { page: null, operator: null };
  const base = (server.publicUrl ?? channel.address ?? '').replace(/\/+$/, '');
  return {
    page: page.enabled ? `${base}/talk` : null,
    operator: { url: `${base}/operator`, newToken },
  };
}

function factsOf(config: LoadedConfig, host: EmbeddedHost, channel: RealtimeVoiceChannel): Gateway['facts'] {
  const { server, store } = config.realtime;
  const tools = host.gateway.getToolDefinitions().length;
  const mcp = host.mcpServers.all;
  const extras = [
    ...(mcp > 0 ? [`${mcp} MCP server${mcp === 1 ? '' : 's'}`] : []),
    ...(host.textModel === null ? [] : [`text answered by ${host.textModel}`]),
  ].map((each) => `, ${each}`);
  return {
    configFile: config.found ? config.path : null,
    url: channel.address ?? '',
    metricsUrl: channel.server?.metricsUrl ?? null,
    publicUrl: server.publicUrl,
    twilio: channel.server?.twilio ?? 'no_key',
    model: channel.modelDescription ?? '',
    agent: `nanobot (embedded), ${tools} tools in ${config.host.workspace}${extras.join('')}`,
    store: store.engine === 'sqlite' ? `SQLite, ${storeFile(config)}` : 'PostgreSQL',
    drainTimeoutS: server.drainTimeoutS,
    notes: config.found ? config.notes : [],
  };
}
