/**
 * The channel put together for a host on the other side of the bridge: its tools, sessions and agent from there, calls,
 * store, approvals and media from here.
 *
 * @module
 */

import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { type ApprovalSystem, createApprovals, OperatorSecret } from '../approval/index.ts';
import { CHANNEL_NAME, type ChannelParts, RealtimeVoiceChannel } from '../channel/index.ts';
import type { Clock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import { isGateOn } from '../config-approvals.ts';
import { VoiceError } from '../errors.ts';
import { createToolGatewayFacade, type ToolGate, type ToolGateway } from '../gateway/index.ts';
import {
  type Initialize,
  PROTOCOL_VERSION,
  RemoteToolGateway,
  RpcError,
  type RpcPeer,
} from '../gateway/remote/index.ts';
import type { Media, ChannelMessage as MediaMessage } from '../media/index.ts';
import type { Logger } from '../observe/index.ts';
import type { FullStore } from '../store/index.ts';
import { GateDesk } from './gate-desk.ts';
import { HostFiles } from './host-files.ts';
import { HostLink } from './host-link.ts';
import { Inbox } from './inbox.ts';
import { JoinedGateway } from './joined-gateway.ts';
import { RemoteBus } from './remote-bus.ts';
import { SessionProjector } from './session-projector.ts';

/** Tools of nanobot's that set its agent to work, which runs other tools out of our sight. */
export const AGENT_TOOLS: ReadonlySet<string> = new Set([
  'spawn',
  'cron',
  'create_goal',
  'update_goal',
  'send_session_message',
  'long_task',
]);

/** What the command line lends: the parts that know of configs, files and the embedded host's tools. */
export interface BridgeParts {
  readonly version: string;
  readonly clock: Clock;
  readonly createLogger: (level: string) => Logger;
  /** @throws VoiceError `CONFIG_INVALID` */
  readonly parseConfig: (section: Readonly<Record<string, unknown>>) => RealtimeConfig;
  /** @throws VoiceError `STORE_*`, `CONFIG_INVALID` */
  readonly openStore: (config: RealtimeConfig, dataDirectory: string) => Promise<FullStore>;
  /** Media and the tools that make them; `null` when the config lists none. */
  readonly openMedia: (options: {
    readonly config: RealtimeConfig;
    readonly store: FullStore;
    readonly logger: Logger;
    readonly dataDirectory: string;
    readonly workspace: string;
    readonly gate: ToolGate | null;
    readonly publish: (message: MediaMessage) => Promise<void>;
  }) => Promise<{ readonly media: Media; readonly tools: ToolGateway } | null>;
  /** Takes the code of what went wrong while stopping. */
  readonly onError: (code: string) => void;
  /** Further parts of the channel; for tests. */
  readonly channelParts?: Partial<ChannelParts>;
}

export interface Composition {
  readonly facts: {
    readonly protocol: number;
    readonly name: string;
    readonly version: string;
    readonly pid: number;
    readonly address: string;
    readonly publicUrl: string | null;
    readonly model: string;
    readonly gate: boolean;
    readonly operatorUrl: string | null;
    readonly operatorToken: string | null;
    readonly notes: readonly string[];
  };
  readonly gateway: RemoteToolGateway;
  readonly gate: GateDesk;
  readonly inbox: Inbox;
  readonly logger: Logger;
  activeCalls(): number;
  hangUpAll(): void;
  close(drainMs?: number): Promise<void>;
}

/** @throws VoiceError whatever keeps it from starting; then nothing of it is left */
export async function compose(init: Initialize, peer: RpcPeer, parts: BridgeParts): Promise<Composition> {
  if (init.channel !== CHANNEL_NAME)
    throw new VoiceError('CONFIG_INVALID', `This channel runs under the name '${CHANNEL_NAME}' only.`);
  const config = configOf(init, parts);
  checkGate(init, config);
  const undo: (() => Promise<unknown> | unknown)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return await build({ init, config, peer, parts, undo, close });
  } catch (error) {
    await close().catch(() => {});
    if (!(error instanceof RpcError)) throw error;
    throw new VoiceError('HOST_UNAVAILABLE', `The host did not answer as it has to: ${error.message}`, {
      cause: error,
    });
  }
}

interface BuildOptions {
  readonly init: Initialize;
  readonly config: RealtimeConfig;
  readonly peer: RpcPeer;
  readonly parts: BridgeParts;
  readonly undo: (() => Promise<unknown> | unknown)[];
  readonly close: () => Promise<void>;
}

async function build({ init, config, peer, parts, undo, close }: BuildOptions): Promise<Composition> {
  const { clock } = parts;
  const { dataDir: dataDirectory, workspace, toolAccess, host } = init;
  const logger = parts.createLogger(config.logLevel);
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const store = await parts.openStore(config, dataDirectory);
  undo.push(() => store.close());

  const base: { channel: RealtimeVoiceChannel | null } = { channel: null };
  const publicBase = () => config.server.publicUrl ?? base.channel?.address ?? null;
  const approvals = approvalsOf({ config, store, clock, logger, dataDirectory, publicBase });
  const secret = new OperatorSecret(dataDirectory);
  const operatorToken = await secret.open(clock.wallNow());

  const link = new HostLink(peer, init);
  const bus = new RemoteBus(link);
  const isHostAsked = approvals !== null && toolAccess.gate;
  const gateway = new RemoteToolGateway({
    peer,
    channel: CHANNEL_NAME,
    timeoutMs: longestToolMs(config),
    sessionKey: link.sessionKey,
    gate: isHostAsked ? null : (approvals?.gate ?? null),
    ...(approvals && !isHostAsked && config.approvals.scope !== 'voiceOnly' && { hidden: AGENT_TOOLS }),
  });
  const opened = await parts.openMedia({
    config,
    store,
    logger,
    dataDirectory,
    workspace,
    gate: approvals?.gate ?? null,
    publish: (message) => link.send(message),
  });
  const media = opened?.media ?? null;
  undo.push(() => media?.close());
  const tools = new JoinedGateway(gateway, opened?.tools ?? null);
  if (toolAccess.level === 'full' || toolAccess.level === 'public') await gateway.refresh();

  const projector = new SessionProjector({
    store,
    append: (...turn) => link.append(...turn),
    clock,
    logger,
  });
  undo.push(() => projector.close());
  if (approvals) {
    undo.push(() => approvals.close());
    const shown = (text: string) => withLink(text, publicBase(), toolAccess.gate);
    await startApprovals(approvals, tools, link, shown, logger);
  }
  const { allow, deny } = config.tools;
  const channel = new RealtimeVoiceChannel(config, bus, {
    toolGateway: createToolGatewayFacade(tools, { channel: CHANNEL_NAME, allow, deny }),
    parts: {
      clock,
      logger,
      store,
      dataDirectory,
      history: (sessionKey, limit) => link.history(sessionKey, limit),
      onTurnFinal: () => void projector.project(),
      onToolsChanged: (listener) => gateway.onChanged(listener),
      admits: (senderId) => link.isAllowed(senderId),
      operator: { approvals, secret },
      plugin: { workspace },
      version: parts.version,
      ...(media && { media }),
      ...(host.persona ? { persona: host.persona } : {}),
      ...parts.channelParts,
    },
  });
  base.channel = channel;
  undo.push(() => channel.stop());
  await channel.listen();
  void projector.project();

  const files = media && new HostFiles({ media, roots: init.mediaRoots ?? [], logger });
  return {
    facts: {
      protocol: PROTOCOL_VERSION,
      name: 'nanobot-channel-realtime',
      version: parts.version,
      pid: process.pid,
      address: channel.address ?? '',
      publicUrl: config.server.publicUrl ?? null,
      model: channel.modelDescription ?? '',
      gate: isHostAsked,
      operatorUrl: approvals || config.page.enabled ? `${publicBase() ?? ''}/operator` : null,
      operatorToken,
      notes: notesOf(init, config),
    },
    gateway,
    gate: new GateDesk({ approvals, gateway, bus }),
    inbox: new Inbox({ channel, files, logger }),
    logger,
    activeCalls: () => channel.desk?.activeCalls ?? 0,
    hangUpAll: () => channel.desk?.hangUpAll(),
    async close(drainMs) {
      const timer = drainMs === undefined ? null : clock.setTimeout(() => channel.desk?.hangUpAll(), drainMs);
      await close();
      timer?.clear();
    },
  };
}

/** The section as it holds for this host: what it can't give is not offered. */
function configOf({ config: section, toolAccess }: Initialize, parts: BridgeParts): RealtimeConfig {
  const config = parts.parseConfig(section);
  const mode = toolAccess.level === 'delegate' ? 'delegate' : config.tools.mode;
  // The host's own rules count, its pairing included: it is asked for each call.
  return {
    ...config,
    allowFrom: ['*'],
    tools: { ...config.tools, mode: toolAccess.level === 'none' ? 'direct' : mode },
  };
}

/** A gate must not fail open, and must not have a way around it. */
function checkGate({ toolAccess }: Initialize, { approvals, tools }: RealtimeConfig): void {
  if (!isGateOn(approvals.toolGate) || toolAccess.gate || approvals.scope === 'voiceOnly') return;
  if (tools.mode === 'direct') return;
  throw new VoiceError(
    'CONFIG_INVALID',
    `channels.realtime.approvals.toolGate is on, and calls may ask the agent (tools.mode: ${tools.mode}), whose own tools ` +
      `the gate does not reach at toolAccess '${toolAccess.level}'. Set toolAccess to "full", or tools.mode to "direct", or ` +
      'accept it in writing with approvals.scope: "voiceOnly".',
  );
}

function approvalsOf(options: {
  readonly config: RealtimeConfig;
  readonly store: FullStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly dataDirectory: string;
  readonly publicBase: () => string | null;
}): ApprovalSystem | null {
  const { config, ...rest } = options;
  return createApprovals({
    ...rest,
    config: config.approvals,
    locale: config.locale,
    toolTimeoutMs: config.limits.toolTimeoutS * 1000,
    executor: config.store.engine === 'sqlite' ? 'local' : hostname(),
  });
}

function startApprovals(
  approvals: ApprovalSystem,
  tools: JoinedGateway,
  link: HostLink,
  shown: (text: string) => string,
  logger: Logger,
): Promise<void> {
  return approvals.start({
    gateway: { executeTool: (...call) => tools.executeApproved(...call) },
    message({ channel, chatId }, content) {
      // A chat of the voice channel is a call; nobody reads messages there.
      if (channel === CHANNEL_NAME) return false;
      link
        .send({ channel, chatId, content: shown(content), media: [], metadata: {} })
        .catch(() => logger.warn('the host took no message of the approvals'));
      return true;
    },
  });
}

/** A line that tells how to decide by a message. */
const COMMANDS = /^\/approve .*$/m;

/**
 * A card with a link to the page where it can be decided. Where the host asks no gate it knows no `/approve` either, and
 * would answer that it does not.
 */
function withLink(text: string, base: string | null, hasCommands: boolean): string {
  if (base === null || !COMMANDS.test(text)) return text;
  const link = `${base}/operator`;
  return hasCommands ? `${text}\n${link}` : text.replace(COMMANDS, link);
}

/** The host's deadline of one tool; the call's own, by its policies, is never later. */
function longestToolMs({ limits, tools }: RealtimeConfig): number {
  const all = [limits.toolTimeoutS, ...tools.policies.map(({ timeoutS }) => timeoutS ?? 0)];
  return Math.ceil(Math.max(...all) * 1000);
}

function notesOf({ toolAccess }: Initialize, config: RealtimeConfig): string[] {
  const { requested, level, note } = toolAccess;
  const isOn = isGateOn(config.approvals.toolGate);
  return [
    ...(level === requested
      ? []
      : [`Tools are reached at level '${level}', not '${requested}'${note ? `: ${note}` : '.'}`]),
    ...(isOn && !toolAccess.gate
      ? ['The approval gate holds for what calls run themselves, not for what the agent runs elsewhere.']
      : []),
  ];
}
