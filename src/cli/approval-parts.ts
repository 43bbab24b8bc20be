/**
 * The gate as `start` runs it: the system of approvals and the operator's secret, where the config has a gate.
 *
 * @module
 */

import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { type ApprovalSystem, createApprovals, OperatorSecret } from '../approval/index.ts';
import type { Clock } from '../clock.ts';
import type { ToolGateConfig } from '../config-approvals.ts';
import { type EmbeddedHost, type LoadedConfig, loadConfig } from '../host/index.ts';
import type { Logger } from '../observe/index.ts';
import type { FullStore } from '../store/index.ts';

export interface ApprovalParts {
  readonly approvals: ApprovalSystem;
  readonly secret: OperatorSecret;
  /** The operator's token, when it was made just now: to be shown once. */
  readonly newToken: string | null;
}

/** @returns `null` when no tool is designated or denied @throws VoiceError `CONFIG_INVALID`, `CONFIG_UNREADABLE` */
export async function createApprovalParts(options: {
  readonly config: LoadedConfig;
  readonly store: FullStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publicBase: () => string | null;
}): Promise<ApprovalParts | null> {
  const { config, store, clock, logger, publicBase } = options;
  const { realtime, host } = config;
  const approvals = createApprovals({
    config: realtime.approvals,
    store,
    clock,
    logger,
    dataDirectory: host.dataDir,
    locale: realtime.locale,
    toolTimeoutMs: realtime.limits.toolTimeoutS * 1000,
    executor: realtime.store.engine === 'sqlite' ? 'local' : hostname(),
    reload: await reloader(config.path),
    publicBase,
  });
  if (!approvals) return null;
  const secret = new OperatorSecret(host.dataDir);
  const newToken = await secret.open(clock.wallNow());
  return { approvals, secret, newToken };
}

/** Ties the system to the host that runs the tools. */
export function startApprovals(approvals: ApprovalSystem, host: EmbeddedHost, logger: Logger): Promise<void> {
  return approvals.start({
    gateway: host.gateway,
    message({ channel, chatId }, content) {
      // A chat of the voice channel is a call; nobody reads messages there.
      if (channel === 'realtime') return false;
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

/** Reads the gate's section anew when the file has changed since. */
async function reloader(path: string): Promise<() => Promise<ToolGateConfig | null>> {
  const stampOf = async () => {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs}:${size}:${ino}`;
  };
  // No file, no edit: when one appears it counts as one.
  let last = await stampOf().catch(() => 'none');
  return async () => {
    const now = await stampOf().catch(() => 'none');
    if (now === last) return null;
    last = now;
    const { realtime } = await loadConfig({ path });
    return realtime.approvals.toolGate;
  };
}
