/**
 * What the bridge takes from the rooms that know of configs and of the embedded host's media tools.
 *
 * @module
 */

import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { Bridge, type BridgeParts } from '../bridge/index.ts';
import { realClock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import { VoiceError } from '../errors.ts';
import type { ToolGate, ToolGateway } from '../gateway/index.ts';
import { RpcPeer } from '../gateway/remote/index.ts';
import {
  createMediaTools,
  FileStateStore,
  parseSection,
  ToolRegistry,
  ToolRunner,
  WorkspacePolicy,
} from '../host/index.ts';
import { createLogger } from '../observe/index.ts';
import { openStore } from '../store/index.ts';
import { openMedia, withGatedFile } from './media-parts.ts';
import { packageVersion } from './version.ts';

export interface RunningBridge {
  readonly done: Bridge['done'];
  /** Resolves when the other side is gone. */
  readonly hostGone: Promise<void>;
  stop(): Promise<void>;
}

export function startBridge(input: Readable, output: Writable): RunningBridge {
  const logger = createLogger('warn');
  const peer = new RpcPeer({
    input,
    output,
    clock: realClock,
    onGarbage: (what) => logger.warn({ what }, 'a line on the bridge was refused'),
  });
  const bridge = new Bridge({ peer, parts: bridgeParts() });
  return { done: bridge.done, hostGone: peer.closed, stop: () => bridge.stop() };
}

export function bridgeParts(): BridgeParts {
  return {
    version: packageVersion(),
    clock: realClock,
    createLogger,
    parseConfig: (section) => withGatedFile(parseSection(section, 'channels.realtime')),
    openStore: openStoreIn,
    onError: (code) => createLogger('error').error({ code }, 'the bridge did not stop in good order'),
    async openMedia({ config, store, logger, dataDirectory, workspace, gate, publish }) {
      const media = await openMedia({ config, dataDirectory, store, clock: realClock, logger, publish });
      return media && { media, tools: mediaToolGateway({ config, media, dataDirectory, workspace, gate }) };
    },
  };
}

async function openStoreIn({ store }: RealtimeConfig, dataDirectory: string) {
  if (store.engine === 'sqlite') {
    await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
    return openStore({ engine: 'sqlite', file: join(dataDirectory, 'realtime.db') });
  }
  if (store.url === undefined)
    throw new VoiceError('CONFIG_INVALID', 'channels.realtime.store.url: needed with the engine postgres.');
  return openStore({ engine: 'postgres', url: store.url });
}

/** Media tools are ours wherever the other tools are: they run here, behind the same gate. */
function mediaToolGateway(options: {
  readonly config: RealtimeConfig;
  readonly media: Parameters<typeof createMediaTools>[0];
  readonly dataDirectory: string;
  readonly workspace: string;
  readonly gate: ToolGate | null;
}): ToolGateway {
  const { config, media, dataDirectory, workspace, gate } = options;
  const recordings = config.recording.directory;
  const policy = new WorkspacePolicy({
    workspace,
    reservedRoots: [dataDirectory, ...(recordings === undefined ? [] : [resolve(recordings)])],
  });
  const registry = new ToolRegistry();
  const listed = config.tools.authorization.map(({ tool }) => tool);
  for (const tool of createMediaTools(media, { policy, listed })) registry.register(tool);
  return new ToolRunner({
    registry,
    // Policies of sessions are the other host's; it is not asked about tools that are not its own.
    sessions: {
      get: async (key) => ({
        key,
        metadata: {},
        rows: [],
        createdAt: '',
        updatedAt: '',
        lastConsolidated: 0,
      }),
    },
    fileStates: new FileStateStore(),
    workspace,
    restrictToWorkspace: true,
    gate,
  });
}
