/**
 * The gate as `start` runs it: the system of approvals, where the config has a gate.
 *
 * @module
 */

import { type ApprovalSystem, createApprovals, createLateGate } from '../approval/index.ts';
import type { Clock } from '../clock.ts';
import type { EmbeddedHost, EmbeddedHostOptions, LoadedConfig } from '../host/index.ts';
import type { Logger } from '../observe/index.ts';
import type { FullStore } from '../store/index.ts';
import { gateReader } from './approval-config.ts';
import { nodeName } from './store.ts';

/** @returns `null` when no tool is designated or denied @throws VoiceError `CONFIG_INVALID`, `CONFIG_UNREADABLE` */
export async function createApprovalParts(options: {
  readonly config: LoadedConfig;
  readonly store: FullStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publicBase: () => string | null;
  readonly worker?: { readonly index: number; readonly isFirst: boolean } | null;
}): Promise<ApprovalSystem | null> {
  const { config, store, clock, logger, publicBase, worker = null } = options;
  const { realtime, host } = config;
  return createApprovals({
    config: realtime.approvals,
    store,
    clock,
    logger,
    dataDirectory: host.dataDir,
    locale: realtime.locale,
    toolTimeoutMs: realtime.limits.toolTimeoutS * 1000,
    executor: nodeName(config, worker?.index ?? null),
    ...(worker?.isFirst ? { recovers: nodeName(config, null) } : {}),
    reload: gateReader(config, clock),
    holdsShell: true,
    publicBase,
  });
}

/** Where the config has no gate: what holds tools back that an edit designates while the gateway runs. */
export function createLatePart(
  config: LoadedConfig,
  clock: Clock,
  logger: Logger,
): { readonly hostPart: NonNullable<EmbeddedHostOptions['approvals']>; close(): void } {
  const { gate, keeper } = createLateGate({
    config: config.realtime.approvals,
    clock,
    logger,
    reload: gateReader(config, clock),
  });
  keeper.start();
  const hostPart = { gate, isCommand: () => false, command: async () => null };
  return { hostPart, close: () => keeper.close() };
}

/** Ties the system to the host that runs the tools. */
export function startApprovals(
  approvals: Pick<ApprovalSystem, 'start'>,
  host: Pick<EmbeddedHost, 'gateway' | 'channels' | 'bus'>,
  logger: Logger,
): Promise<void> {
  return approvals.start({
    gateway: host.gateway,
    message({ channel, chatId }, content) {
      // A chat of the voice channel is a call; nobody reads messages there, and nobody where there is no channel.
      if (channel === 'realtime' || !Object.hasOwn(host.channels.getStatus(), channel)) return false;
      try {
        host.bus.publishOutbound({ channel, chatId, content, media: [], metadata: {} });
        return true;
      } catch {
        logger.warn('the bus took no message of the approvals');
        return false;
      }
    },
  });
}
