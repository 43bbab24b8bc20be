/**
 * The HTTP and WebSocket server that carriers reach.
 *
 * @module
 */

import type { RequestListener, Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Registry } from 'prom-client';
import { type Clock, realClock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import { twilioCapabilities } from '../leg/twilio/index.ts';
import type { Media } from '../media/index.ts';
import { type Logger, silentLogger } from '../observe/index.ts';
import { TlsFiles } from '../tls-files.ts';
import type { WorkerSlot } from '../worker-slot.ts';
import { createApp } from './app.ts';
import { type BrowserOptions, createBrowserSide } from './browser-side.ts';
import type { Desk } from './desk.ts';
import { type ReadyCheck, ReadyChecks } from './health.ts';
import {
  HEADERS_TIMEOUT_MS,
  KEEP_ALIVE_TIMEOUT_MS,
  MAX_HEADER_BYTES,
  REQUEST_TIMEOUT_MS,
  SPARE_CONNECTIONS,
} from './limits.ts';
import { type ListeningAddress, listen } from './listen.ts';
import { MediaFiles, MediaLive } from './media/index.ts';
import { ServerMetrics } from './metrics.ts';
import { createSecureServer, createServer, SecureServer } from './node-http.ts';
import { BrowserGuard } from './pages/browser-guard.ts';
import { PluginApi, type PluginApiOptions } from './plugin/index.ts';
import { PublicAddress } from './public-address.ts';
import { answerOthers, listenBehind } from './shared-port.ts';
import { SocketCaps } from './socket-caps.ts';
import { StreamTokens } from './stream-tokens.ts';
import { TwilioCalls } from './twilio/calls.ts';
import { controlOf } from './twilio/control.ts';
import { MediaSockets } from './twilio/media.ts';
import { Rings } from './twilio/rings.ts';
import { twilioRest, twilioSettings } from './twilio/settings.ts';
import { StreamAnswers } from './twilio/stream-answers.ts';
import { VoiceWebhook } from './twilio/voice.ts';
import { Upgrades } from './upgrades.ts';

export interface VoiceServerOptions extends BrowserOptions {
  readonly config: RealtimeConfig;
  readonly desk: Desk;
  /** @defaultValue the machine's clock */
  readonly clock?: Clock;
  /** @defaultValue says nothing */
  readonly logger?: Logger;
  /** What must work before calls are sent here, by name, e.g. `store` and `model`. */
  readonly checks?: Readonly<Record<string, ReadyCheck>>;
  /** Where the server's own metrics go, and those of other rooms come from. */
  readonly registry?: Registry;
  /** Serves what calls send, and the sockets of their pages. */
  readonly media?: Media;
  /** What the Agent Plugin may read; without it there is nothing for it. */
  readonly plugin?: PluginApiOptions;
  /** One worker of several: connections come from the process that listens. */
  readonly slot?: WorkerSlot | null;
  /** Where `TWILIO_AUTH_TOKEN` is looked up. @defaultValue `process.env` */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface VoiceServer {
  /** @throws VoiceError `ADDRESS_IN_USE`, `CONFIG_INVALID` */
  listen(): Promise<ListeningAddress>;
  /** Where metrics are, once it listens; `null` without `server.metricsPort`. */
  readonly metricsUrl: string | null;
  /** The address for a carrier's console: `publicUrl`, or where we listen. */
  readonly publicBase: string;
  /** Whether webhooks of Twilio's can be verified, or are believed unverified. */
  readonly twilio: 'ready' | 'no_key' | 'unverified';
  /** Rings up the person of a chat, where the config lists them; whether they will hear this when they answer. */
  ring(chatId: string, text: string): Promise<boolean>;
  /**
   * Takes no new calls, lets the running ones end within `server.drainTimeoutS`, then closes every socket.
   * Idempotent.
   *
   * @param drainTimeoutMs - another bound than the config's
   */
  close(drainTimeoutMs?: number): Promise<void>;
}

/** @throws VoiceError `CONFIG_INVALID` when the config would accept unsigned webhooks from others */
export function createVoiceServer(options: VoiceServerOptions): VoiceServer {
  const { config, desk, clock = realClock, logger = silentLogger, env = process.env, slot = null } = options;
  const twilio = twilioSettings(config, env);
  const address = new PublicAddress(config.server.publicUrl);
  const tokens = new StreamTokens(clock, slot?.tag);
  const caps = new SocketCaps();
  let draining = false;
  const isDraining = () => draining;
  const rest = twilioRest(config, env);
  const calls = rest && new TwilioCalls(rest, clock);
  const answers = new StreamAnswers({ config, tokens, address });
  if (calls === null && config.transfers.length > 0)
    logger.warn(
      'channels.realtime.transfers: phone calls can be transferred only with carriers.twilio.accountSid beside the auth token',
    );
  const capabilities = twilioCapabilities({ control: calls !== null, resumes: true });
  const media = new MediaSockets({
    config,
    desk,
    tokens,
    caps,
    clock,
    logger,
    accountSid: twilio.accountSid,
    capabilities,
    control: (callSid) => calls && controlOf(callSid, { calls, answers, address }),
  });
  const metrics = new ServerMetrics(
    () => ({
      activeCalls: desk.activeCalls,
      pendingCalls: desk.pendingCalls,
      mediaSockets: media.open,
      unauthenticatedSockets: caps.total,
      streamTokens: tokens.size,
      pageCalls: browsers.page?.calls.size ?? 0,
      pageGuests: browsers.page?.sessions.size ?? 0,
    }),
    options.registry,
  );
  const guard = new BrowserGuard(address, [...config.page.hosts, ...config.approvals.pageHosts]);
  const ready = new ReadyChecks(options.checks ?? {}, clock);
  const attachments = options.media ?? null;
  const browsers = createBrowserSide({
    ...options,
    slot,
    guard,
    address,
    ready,
    media: attachments,
    clock,
    logger,
    isDraining,
  });
  const { board, page } = browsers;
  const live = attachments && new MediaLive(attachments, guard);
  const upgrades = new Upgrades(address, media, metrics, board, live, page?.sockets ?? null);
  const voice = new VoiceWebhook({
    config,
    desk,
    tokens,
    answers,
    capabilities,
    calls,
    clock,
    logger,
    isDraining,
  });
  const rings = new Rings({
    config,
    desk,
    answers,
    calls,
    capabilities,
    address,
    clock,
    ...(slot ? { tag: slot.tag } : {}),
    logger,
    isDraining,
  });
  const app = createApp({
    address,
    rings,
    twilio,
    voice,
    desk,
    answers,
    calls,
    media,
    tokens,
    receipts: attachments?.receipts ?? null,
    ready,
    slot,
    metrics,
    more: [
      ...browsers.routes,
      ...(attachments ? [new MediaFiles(attachments).routes()] : []),
      ...(options.plugin ? [new PluginApi(options.plugin).routes()] : []),
    ],
    clock,
    logger,
    isDraining,
  });

  // A worker's connections come to it decrypted.
  const tls = slot ? null : TlsFiles.of(config.server.tls, clock, logger);
  const server = createMainServer(
    getRequestListener(app.fetch, { overrideGlobalObjects: false }),
    tls !== null,
  );
  server.maxConnections = config.limits.maxCalls * 2 + SPARE_CONNECTIONS;
  if (slot) answerOthers(slot, { ready, isDraining, desk, metrics, pageCalls: () => page?.calls.size ?? 0 });
  server.on('upgrade', (request, socket, head) => upgrades.handle(request, socket, head));
  const metricsServer = createMetricsServer(metrics.registry);
  let closing: Promise<void> | null = null;
  let metricsUrl: string | null = null;

  async function close(drainTimeoutMs: number): Promise<void> {
    draining = true;
    await desk.drain(drainTimeoutMs);
    board?.close();
    tls?.close();
    upgrades.terminate();
    await Promise.all([closed(server), closed(metricsServer)]);
    await rest?.close();
  }

  return {
    async listen() {
      if (server instanceof SecureServer) await tls?.serve(server);
      const listening = slot
        ? listenBehind(slot, server)
        : await listen(server, config.server.host, config.server.port);
      address.setListening(listening.url);
      guard.setListening(listening);
      const { metricsPort } = config.server;
      if (metricsPort !== undefined && !slot) {
        metricsUrl = `${(await listen(metricsServer, '127.0.0.1', metricsPort)).url}/metrics`;
      }
      return listening;
    },
    get metricsUrl() {
      return metricsUrl;
    },
    get publicBase() {
      return address.base;
    },
    ring: (chatId, text) => rings.ring(chatId, text),
    twilio: twilio.skipSignature ? 'unverified' : twilio.hasKey ? 'ready' : 'no_key',
    close(drainTimeoutMs = config.server.drainTimeoutS * 1000) {
      closing ??= close(drainTimeoutMs);
      return closing;
    },
  };
}

function createMainServer(listener: RequestListener, isSecure: boolean): Server | SecureServer {
  const options = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    connectionsCheckingInterval: 1000,
    maxHeaderSize: MAX_HEADER_BYTES,
  };
  return isSecure ? createSecureServer(options, listener) : createServer(options, listener);
}

/** A listener of its own, because behind a reverse proxy on this machine everybody looks like loopback. */
function createMetricsServer(registry: Registry): Server {
  return createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end();
      return;
    }
    registry.metrics().then(
      (text) => response.writeHead(200, { 'content-type': registry.contentType }).end(text),
      () => response.writeHead(500).end(),
    );
  });
}

function closed(server: Server | SecureServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
