/**
 * The channel put together for a host on the other side of the bridge: its tools, sessions and agent from there, calls,
 * store, approvals and media from here.
 *
 * @module
 */

import { mkdir } from 'node:fs/promises';
import { OperatorSecret } from '../approval/index.ts';
import { CHANNEL_NAME, RealtimeVoiceChannel } from '../channel/index.ts';
import type { RealtimeConfig } from '../config.ts';
import { VoiceError } from '../errors.ts';
import { createToolGatewayFacade } from '../gateway/index.ts';
import {
  type Initialize,
  PROTOCOL_VERSION,
  RemoteToolGateway,
  RpcError,
  type RpcPeer,
} from '../gateway/remote/index.ts';
import type { Logger } from '../observe/index.ts';
import type { FullStore } from '../store/index.ts';
import { AGENT_TOOLS, BridgeGate, type EditAnswer } from './bridge-gate.ts';
import { GateDesk } from './gate-desk.ts';
import { checkGate, hostConfig, longestToolMs, notesOf } from './host-config.ts';
import { HostFiles } from './host-files.ts';
import { HostLink } from './host-link.ts';
import { Inbox } from './inbox.ts';
import { JoinedGateway } from './joined-gateway.ts';
import type { BridgeParts } from './parts.ts';
import { RemoteBus } from './remote-bus.ts';
import { SessionProjector } from './session-projector.ts';

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
  /** Takes the section as the host's config has it now. */
  edited(section: Readonly<Record<string, unknown>>): Promise<EditAnswer>;
  activeCalls(): number;
  hangUpAll(): void;
  close(drainMs?: number): Promise<void>;
}

/** @throws VoiceError whatever keeps it from starting; then nothing of it is left */
export async function compose(init: Initialize, peer: RpcPeer, parts: BridgeParts): Promise<Composition> {
  if (init.channel !== CHANNEL_NAME)
    throw new VoiceError('CONFIG_INVALID', `This channel runs under the name '${CHANNEL_NAME}' only.`);
  const read = (section: Readonly<Record<string, unknown>>) =>
    hostConfig(parts.parseConfig(section), init.toolAccess);
  const config = read(init.config);
  checkGate(init, config);
  const undo: (() => Promise<unknown> | unknown)[] = [];
  const close = async () => {
    for (const step of undo.splice(0).reverse()) await step();
  };
  try {
    return await build({ init, read, config, peer, parts, undo, close });
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
  /** @throws VoiceError `CONFIG_INVALID` */
  readonly read: (section: Readonly<Record<string, unknown>>) => RealtimeConfig;
  readonly config: RealtimeConfig;
  readonly peer: RpcPeer;
  readonly parts: BridgeParts;
  readonly undo: (() => Promise<unknown> | unknown)[];
  readonly close: () => Promise<void>;
}

async function build({ init, read, config, peer, parts, undo, close }: BuildOptions): Promise<Composition> {
  const { clock } = parts;
  const { dataDir: dataDirectory, workspace, toolAccess, host } = init;
  const logger = parts.createLogger(config.logLevel);
  await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
  const store = await parts.openStore(config, dataDirectory);
  undo.push(() => store.close());

  const base: { channel: RealtimeVoiceChannel | null } = { channel: null };
  const publicBase = () => config.server.publicUrl ?? base.channel?.address ?? null;
  const gate = new BridgeGate({ config, toolAccess, store, clock, logger, dataDirectory, publicBase });
  const { approvals } = gate;
  undo.push(() => gate.close());
  const secret = new OperatorSecret(dataDirectory);
  const operatorToken = await secret.open(clock.wallNow());

  const link = new HostLink(peer, init);
  const bus = new RemoteBus(link, () => !gate.closesAgentTools);
  const gateway = new RemoteToolGateway({
    peer,
    channel: CHANNEL_NAME,
    timeoutMs: longestToolMs(config),
    sessionKey: link.sessionKey,
    gate: toolAccess.gate ? null : gate.gate,
    hidden: { has: (name) => gate.closesAgentTools && AGENT_TOOLS.has(name) },
  });
  const opened = await parts.openMedia({
    config,
    store,
    logger,
    dataDirectory,
    workspace,
    gate: gate.gate,
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
  await gate.start(tools, link);
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

  const files = media && new HostFiles({ media, store, roots: init.mediaRoots ?? [], logger });
  return {
    facts: {
      protocol: PROTOCOL_VERSION,
      name: 'nanobot-channel-realtime',
      version: parts.version,
      pid: process.pid,
      address: channel.address ?? '',
      publicUrl: config.server.publicUrl ?? null,
      model: channel.modelDescription ?? '',
      gate: gate.isHostAsked,
      operatorUrl: approvals || config.page.enabled ? `${publicBase() ?? ''}/operator` : null,
      operatorToken,
      notes: notesOf(init, config),
    },
    gateway,
    gate: new GateDesk({ gate, gateway, bus, sessionOf: (callId) => sessionOf(store, link, callId) }),
    inbox: new Inbox({ channel, files, logger }),
    logger,
    async edited(section) {
      const answer = await gate.edited(() => read(section));
      // Tools that are closed to calls now are gone from theirs.
      if (toolAccess.level === 'public') await gateway.refresh();
      return answer;
    },
    activeCalls: () => channel.desk?.activeCalls ?? 0,
    hangUpAll: () => channel.desk?.hangUpAll(),
    async close(drainMs) {
      const timer = drainMs === undefined ? null : clock.setTimeout(() => channel.desk?.hangUpAll(), drainMs);
      await close();
      timer?.clear();
    },
  };
}

/** The session of a call as the host knows it, from our own record. */
async function sessionOf(
  store: Pick<FullStore, 'getCall'>,
  link: HostLink,
  callId: string,
): Promise<string | null> {
  const call = await store.getCall(callId);
  return call ? link.hostKey(call.sessionKey) : null;
}
