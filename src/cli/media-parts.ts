/**
 * Media as `start` runs it: opened when the config lists a media tool, and not at all otherwise.
 *
 * @module
 */

import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import { isGateOn } from '../config-approvals.ts';
import { type LoadedConfig, type OutboundMessage, SEND_FILE } from '../host/index.ts';
import { Media } from '../media/index.ts';
import type { Logger } from '../observe/index.ts';
import type { MediaStore } from '../store/index.ts';

export interface MediaPartsOptions {
  readonly config: LoadedConfig;
  readonly store: MediaStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publish: (message: OutboundMessage) => Promise<void> | void;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export async function createMediaParts(options: MediaPartsOptions): Promise<Media | null> {
  const { config, store, clock, logger, publish, env = process.env } = options;
  const { server, carriers, tools, media, approvals } = config.realtime;
  if (tools.authorization.length === 0) return null;
  const authToken = carriers.twilio?.authToken ?? env.TWILIO_AUTH_TOKEN;
  return Media.open({
    store,
    clock,
    logger,
    publish,
    config: media,
    authorization: tools.authorization,
    tenant: approvals.toolGate.deferred.tenant,
    directory: join(config.host.dataDir, 'media'),
    ...(server.publicUrl !== undefined && { publicUrl: server.publicUrl }),
    ...(authToken !== undefined && { authToken }),
  });
}

/** Where there is a gate, sending a file out of the workspace waits at it, whatever else the operator designated. */
export function withGatedFiles(config: LoadedConfig): LoadedConfig {
  const { approvals, tools } = config.realtime;
  const { toolGate } = approvals;
  const isListed = tools.authorization.some(({ tool }) => tool === SEND_FILE);
  if (!isListed || !isGateOn(toolGate) || toolGate.requireApproval.includes(SEND_FILE)) return config;
  const requireApproval = [...toolGate.requireApproval, SEND_FILE];
  return {
    ...config,
    realtime: {
      ...config.realtime,
      approvals: { ...approvals, toolGate: { ...toolGate, requireApproval } },
    },
  };
}
