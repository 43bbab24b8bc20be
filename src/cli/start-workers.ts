/**
 * `start --workers`: the process that listens, and its workers.
 *
 * @module
 */

import { flushCompileCache, getCompileCacheDir } from 'node:module';
import { extname } from 'node:path';
import { realClock } from '../clock.ts';
import { VoiceError } from '../errors.ts';
import { loadConfig } from '../host/index.ts';
import { createLogger } from '../observe/index.ts';
import { Primary, startMetrics } from '../workers/index.ts';
import { type BannerFacts, banner } from './banner.ts';
import { type ComposeOptions, withFlags } from './compose.ts';
import type { StopSignals } from './signals.ts';
import { packageVersion } from './version.ts';

export interface StartWorkersFlags extends Omit<ComposeOptions, 'worker'> {
  readonly workers: number;
}

/** @throws VoiceError `CONFIG_*`, `ADDRESS_IN_USE`, `WORKER_FAILED`, and what stops a worker from starting */
export async function startWorkers(flags: StartWorkersFlags, signals: StopSignals): Promise<void> {
  const { workers, config: path } = flags;
  const { realtime } = withFlags(await loadConfig(path === undefined ? {} : { path }), flags);
  const { server, limits, webrtc, page } = realtime;
  const { cert, key } = server.tls;
  const tls = cert === undefined || key === undefined ? null : { cert, key };
  if (tls && process.platform === 'win32')
    throw new VoiceError(
      'CONFIG_INVALID',
      '--workers: channels.realtime.server.tls can’t be used with it on Windows, where connections inside of a machine can’t ' +
        'be handed on. Put a proxy with the certificate in front, or start without --workers.',
    );
  const { min, max } = webrtc.portRange;
  if (page.enabled && min !== undefined && max !== undefined && max - min + 1 < workers)
    throw new VoiceError(
      'CONFIG_INVALID',
      `--workers: channels.realtime.webrtc.portRange has ${max - min + 1} ports for ${workers} workers; each needs its own.`,
    );
  const cache = getCompileCacheDir();
  const primary = new Primary({
    workers,
    program: new URL(`./start-worker${extname(import.meta.url)}`, import.meta.url),
    env: { ...process.env, ...(cache === undefined ? {} : { NODE_COMPILE_CACHE: cache }) },
    host: server.host,
    port: server.port,
    tls,
    maxCalls: limits.maxCalls,
    prefix: server.publicUrl === undefined ? '' : new URL(server.publicUrl).pathname.replace(/\/+$/, ''),
    drainTimeoutMs: server.drainTimeoutS * 1000,
    setup: path === undefined ? {} : { config: path },
    clock: realClock,
    logger: createLogger(realtime.logLevel),
    logLevel: realtime.logLevel,
  });
  let metrics: { readonly url: string; close(): void } | null = null;
  try {
    // The first worker's own words; `compose.ts` has made them.
    const facts = (await primary.start()) as Omit<BannerFacts, 'version'>;
    if (server.metricsPort !== undefined) metrics = await startMetrics(primary, server.metricsPort);
    process.stdout.write(
      banner({ version: packageVersion(), ...facts, metricsUrl: metrics?.url ?? null, workers }),
    );
    flushCompileCache();
    const signal = await signals.first;
    process.stdout.write(`${signal}: no new calls; ${primary.calls} running.\n`);
    await primary.stop();
  } finally {
    metrics?.close();
    primary.kill();
  }
}
