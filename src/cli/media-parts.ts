/**
 * Media as `start` runs it: opened when the config lists a media tool, and not at all otherwise.
 *
 * @module
 */

import { join } from 'node:path';
import type { Clock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import { isGateOn } from '../config-approvals.ts';
import { type LoadedConfig, type OutboundMessage, SEND_FILE } from '../host/index.ts';
import { Media } from '../media/index.ts';
import type { Logger } from '../observe/index.ts';
import type { MediaStore } from '../store/index.ts';

interface MediaPartsOptions {
  readonly store: MediaStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly publish: (message: OutboundMessage) => Promise<void> | void;
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Other processes use the same folder already. */
  readonly isJoining?: boolean;
}

export function createMediaParts({
  config,
  ...parts
}: MediaPartsOptions & { readonly config: LoadedConfig }): Promise<Media | null> {
  return openMedia({ config: config.realtime, dataDirectory: config.host.dataDir, ...parts });
}

/** As `createMediaParts`, from our section and a folder alone. */
export async function openMedia(
  options: MediaPartsOptions & { readonly config: RealtimeConfig; readonly dataDirectory: string },
): Promise<Media | null> {
  const {
    config,
    dataDirectory,
    store,
    clock,
    logger,
    publish,
    env = process.env,
    isJoining = false,
  } = options;
  const { server, carriers, tools, media, approvals } = config;
  if (tools.authorization.length === 0) return null;
  const authToken = carriers.twilio?.authToken ?? env.TWILIO_AUTH_TOKEN;
  return Media.open({
    store,
    clock,
    logger,
    publish,
    isJoining,
    config: media,
    authorization: tools.authorization,
    tenant: approvals.toolGate.deferred.tenant,
    directory: join(dataDirectory, 'media'),
    ...(server.publicUrl !== undefined && { publicUrl: server.publicUrl }),
    ...(authToken !== undefined && { authToken }),
  });
}

/** Where there is a gate, sending a file out of the workspace waits at it, whatever else the operator designated. */
export function withGatedFiles(config: LoadedConfig): LoadedConfig {
  const realtime = withGatedFile(config.realtime);
  return realtime === config.realtime ? config : { ...config, realtime };
}

export function withGatedFile(realtime: RealtimeConfig): RealtimeConfig {
  const { approvals, tools } = realtime;
  const { toolGate } = approvals;
  const isListed = tools.authorization.some(({ tool }) => tool === SEND_FILE);
  if (!isListed || !isGateOn(toolGate) || toolGate.requireApproval.includes(SEND_FILE)) return realtime;
  const requireApproval = [...toolGate.requireApproval, SEND_FILE];
  return { ...realtime, approvals: { ...approvals, toolGate: { ...toolGate, requireApproval } } };
}
