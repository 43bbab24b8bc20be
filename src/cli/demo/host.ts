/**
 * The embedded host as the demo runs it: the real one, on a config file of its own.
 *
 * @module
 */

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ApprovalSystem } from '../../approval/index.ts';
import type { Clock } from '../../clock.ts';
import type { RealtimeConfigInput } from '../../config.ts';
import { createEmbeddedHost, type EmbeddedHost, type LoadedConfig, loadConfig } from '../../host/index.ts';
import type { Media } from '../../media/index.ts';
import { silentLogger } from '../../observe/index.ts';
import type { Store } from '../../store/index.ts';
import { countWordsTool } from './count-words.ts';
import type { DemoFolders } from './workspace.ts';

/** Writes the demo's config file and reads it back as `start` would. */
export async function loadDemoConfig(
  folders: DemoFolders,
  realtime: RealtimeConfigInput,
): Promise<LoadedConfig> {
  const path = join(folders.home, 'config.json');
  const config = { agents: { defaults: { workspace: folders.workspace } }, channels: { realtime } };
  await writeFile(path, JSON.stringify(config), { mode: 0o600 });
  return loadConfig({ path });
}

/**
 * The embedded host, with one tool of the demo's own that takes its time.
 *
 * @throws VoiceError `STORE_UNAVAILABLE`
 */
export async function createDemoHost(
  config: LoadedConfig,
  store: Store,
  clock: Clock,
  media: Media | null,
  approvals: ApprovalSystem | null = null,
): Promise<EmbeddedHost> {
  const host = await createEmbeddedHost({ config, store, clock, media, approvals, logger: silentLogger });
  host.registry.register(countWordsTool(config.host.workspace, clock));
  return host;
}
