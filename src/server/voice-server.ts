/**
 * The HTTP and WebSocket server that carriers reach.
 *
 * @module
 */

import { createServer, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Registry } from 'prom-client';
import type { ApprovalSystem, OperatorSecret } from '../approval/index.ts';
import { type Clock, realClock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import { twilioCapabilities } from '../leg/twilio/index.ts';
import type { Media } from '../media/index.ts';
import { type Logger, silentLogger } from '../observe/index.ts';
import { createApp } from './app.ts';
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
import { ApprovalHooks } from './pages/approval-hooks.ts';
import { BoardLive } from './pages/board-live.ts';
import { BrowserGuard } from './pages/browser-guard.ts';
import { OperatorPages } from './pages/operator-pages.ts';
import { PublicAddress } from './public-address.ts';
import { SocketCaps } from './socket-caps.ts';
import { StreamTokens } from './stream-tokens.ts';
import { TwilioCalls } from './twilio/calls.ts';
import { controlOf } from './twilio/control.ts';
import { MediaSockets } from './twilio/media.ts';
import { twilioRest, twilioSettings } from './twilio/settings.ts';
import { StreamAnswers } from './twilio/stream-answers.ts';
import { VoiceWebhook } from './twilio/voice.ts';
import { Upgrades } from './upgrades.ts';

export interface VoiceServerOptions {
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
  /** Makes the operator's page and the webhooks that decide. */
  readonly operator?: { readonly approvals: ApprovalSystem; readonly secret: OperatorSecret };
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
  /** Whether calls can be ended, transferred and sent keys at Twilio. */
  readonly controlsTwilio: boolean;
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
  const { config, desk, clock = realClock, logger = silentLogger, env = process.env } = options;
  const twilio = twilioSettings(config, env);
  const address = new PublicAddress(config.server.publicUrl);
  const tokens = new StreamTokens(clock);
  const caps = new SocketCaps();
  let draining = false;
  const isDraining = () => draining;
  const rest = twilioRest(config, env);
  const calls = rest && new TwilioCalls(rest, clock);
  const answers = new StreamAnswers({ config, tokens, address });
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
    }),
    options.registry,
  );
  const { operator } = options;
  const guard = new BrowserGuard(address, config.approvals.pageHosts);
  const pages = operator ? new OperatorPages({ ...operator, guard, clock }) : null;
  const hooks = operator ? new ApprovalHooks(operator.approvals, clock) : null;
  const board =
    operator && pages ? new BoardLive({ approvals: operator.approvals, pages, guard, clock }) : null;
  const live = options.media ? new MediaLive(options.media, guard) : null;
  const upgrades = new Upgrades(address, media, metrics, board, live);
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
  const ready = new ReadyChecks(options.checks ?? {}, clock);
  const app = createApp({
    address,
    twilio,
    voice,
    desk,
    answers,
    media,
    tokens,
    ready,
    metrics,
    operator: pages,
    files: options.media ? new MediaFiles(options.media) : null,
    hooks,
    clock,
    logger,
    isDraining,
  });

  const server = createServer(
    {
      headersTimeout: HEADERS_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
      connectionsCheckingInterval: 1000,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    getRequestListener(app.fetch, { overrideGlobalObjects: false }),
  );
  server.maxConnections = config.limits.maxCalls * 2 + SPARE_CONNECTIONS;
  server.on('upgrade', (request, socket, head) => upgrades.handle(request, socket, head));
  const metricsServer = createMetricsServer(metrics.registry);
  let closing: Promise<void> | null = null;
  let metricsUrl: string | null = null;

  async function close(drainTimeoutMs: number): Promise<void> {
    draining = true;
    await desk.drain(drainTimeoutMs);
    board?.close();
    upgrades.terminate();
    await Promise.all([closed(server), closed(metricsServer)]);
    await rest?.close();
  }

  return {
    async listen() {
      const listening = await listen(server, config.server.host, config.server.port);
      address.setListening(listening.url);
      guard.setListening(listening);
      const { metricsPort } = config.server;
      if (metricsPort !== undefined) {
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
    controlsTwilio: calls !== null,
    twilio: twilio.skipSignature ? 'unverified' : twilio.hasKey ? 'ready' : 'no_key',
    close(drainTimeoutMs = config.server.drainTimeoutS * 1000) {
      closing ??= close(drainTimeoutMs);
      return closing;
    },
  };
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

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
