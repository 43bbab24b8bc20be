/**
 * The database that the config names, for every command that needs it.
 *
 * @module
 */

import { mkdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { VoiceError } from '../errors.ts';
import type { LoadedConfig } from '../host/index.ts';
import { type FullStore, openStore } from '../store/index.ts';

export function storeFile(config: LoadedConfig): string {
  return join(config.host.dataDir, 'realtime.db');
}

/** Names a process among those that share the store: a worker behind the gateway that it belongs to. */
export function nodeName(config: LoadedConfig, slot: number | null): string {
  const node = config.realtime.store.engine === 'sqlite' ? 'local' : hostname();
  return slot === null ? node : `${node}/${slot}`;
}

/** @throws VoiceError `STORE_*`, `CONFIG_INVALID` */
export async function openConfiguredStore(
  config: LoadedConfig,
  slot: number | null = null,
): Promise<FullStore> {
  const { engine, url } = config.realtime.store;
  if (engine === 'sqlite') {
    await mkdir(config.host.dataDir, { recursive: true, mode: 0o700 });
    return openStore({ engine, file: storeFile(config), node: nodeName(config, slot) });
  }
  if (url === undefined) {
    throw new VoiceError('CONFIG_INVALID', 'channels.realtime.store.url: needed with the engine postgres.');
  }
  return openStore({ engine, url, node: nodeName(config, slot) });
}
