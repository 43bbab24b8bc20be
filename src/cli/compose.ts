/**
 * The gateway as `start` runs it: config, channel and host, put together in one place.
 *
 * @module
 */

import { RealtimeVoiceChannel } from '../channel/index.ts';
import { VoiceError } from '../errors.ts';
import { loadConfig } from '../host/config/index.ts';
import { createLogger } from '../observe/index.ts';
import type { BannerFacts } from './banner.ts';

export interface ComposeOptions {
  /** nanobot's config file; the usual one when left out. */
  readonly config?: string;
  readonly host?: string;
  readonly port?: number;
}

export interface Gateway {
  readonly facts: Omit<BannerFacts, 'version'>;
  activeCalls(): number;
  /** Takes no new calls, lets the running ones end within the config's bound, frees everything. */
  close(): Promise<void>;
}

/** @throws VoiceError `CONFIG_*`, `ADDRESS_IN_USE`, `STORE_*`, `PHRASE_INVALID` */
export async function compose(options: ComposeOptions): Promise<Gateway> {
  const loaded = await loadConfig(options.config === undefined ? {} : { path: options.config });
  const { server } = loaded.realtime;
  const config = {
    ...loaded.realtime,
    server: { ...server, host: options.host ?? server.host, port: options.port ?? server.port },
  };
  if (!config.enabled) {
    throw new VoiceError('CONFIG_INVALID', `${loaded.path}: channels.realtime.enabled is false.`);
  }
  const logger = createLogger(config.logLevel);
  const channel = new RealtimeVoiceChannel(config, null, {
    parts: { logger, dataDirectory: loaded.host.dataDir },
  });
  await channel.listen();
  return {
    facts: {
      configFile: loaded.found ? loaded.path : null,
      url: channel.address ?? '',
      metricsUrl: channel.server?.metricsUrl ?? null,
      publicUrl: config.server.publicUrl,
      twilio: channel.server?.twilio ?? 'no_key',
      model: channel.modelDescription ?? '',
      agent: '',
      store: config.store.engine,
      drainTimeoutS: config.server.drainTimeoutS,
    },
    activeCalls: () => channel.desk?.activeCalls ?? 0,
    close: () => channel.stop(),
  };
}
