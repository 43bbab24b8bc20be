/**
 * The HTTP routes.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import { type Context, Hono } from 'hono';
import type { Clock } from '../clock.ts';
import { VoiceError } from '../errors.ts';
import type { Media } from '../media/index.ts';
import type { Logger } from '../observe/index.ts';
import type { WorkerSlot } from '../worker-slot.ts';
import type { Desk } from './desk.ts';
import { errorAnswer } from './errors.ts';
import type { ReadyChecks } from './health.ts';
import type { ServerMetrics } from './metrics.ts';
import type { PublicAddress } from './public-address.ts';
import { readyOfAll, workerCounts } from './shared-port.ts';
import type { StreamTokens } from './stream-tokens.ts';
import type { TwilioCalls } from './twilio/calls.ts';
import { type VerifiedWebhook, verifyWebhook } from './twilio/guard.ts';
import type { MediaSockets } from './twilio/media.ts';
import { onMessageStatus } from './twilio/message-status.ts';
import { resume } from './twilio/resume.ts';
import type { Rings } from './twilio/rings.ts';
import type { TwilioSettings } from './twilio/settings.ts';
import { onStatus } from './twilio/status.ts';
import type { StreamAnswers } from './twilio/stream-answers.ts';
import { afterTransfer } from './twilio/transfer.ts';
import type { VoiceWebhook } from './twilio/voice.ts';

export interface AppParts {
  readonly address: PublicAddress;
  readonly twilio: TwilioSettings;
  readonly voice: VoiceWebhook;
  readonly rings: Rings;
  readonly desk: Desk;
  readonly answers: StreamAnswers;
  readonly calls: TwilioCalls | null;
  readonly media: MediaSockets;
  readonly tokens: StreamTokens;
  /** Takes what the carrier says of messages with media. */
  readonly receipts: Media['receipts'] | null;
  readonly ready: ReadyChecks;
  readonly slot: WorkerSlot | null;
  readonly metrics: ServerMetrics;
  /** Routes of what is there only where it is configured: pages, media, approvals. */
  readonly more: readonly Hono[];
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isDraining: () => boolean;
}

/** What `@hono/node-server` hands on with a request. */
type Env = { Bindings: { incoming: IncomingMessage } };

/** Routes by the name under which they are counted. */
const ROUTE_NAMES: Readonly<Record<string, string>> = {
  '/twilio/voice': 'twilio_voice',
  '/twilio/status': 'twilio_status',
  '/twilio/after-transfer': 'twilio_after_transfer',
  '/healthz': 'healthz',
  '/readyz': 'readyz',
  '/talk': 'page',
  '/operator': 'page',
  '/operator/login': 'operator_login',
  '/page/session': 'page_session',
  '/page/links': 'page_links',
  '/page/calls': 'page_calls',
};

/** The first part of a path whose rest is an id. */
const ROUTE_PREFIXES: readonly (readonly [prefix: string, name: string])[] = [
  ['/twilio/resume/', 'twilio_resume'],
  ['/twilio/ring/', 'twilio_ring'],
  ['/twilio/message-status/', 'twilio_message_status'],
  ['/page/calls/', 'page_connection'],
  ['/operator/api/', 'operator_api'],
  ['/plugin/api/', 'plugin_api'],
  ['/assets/', 'page'],
  ['/media/', 'media'],
];

export function createApp(parts: AppParts): Hono<Env> {
  const { address, logger, metrics } = parts;
  const app = new Hono<Env>({
    getPath: (request) => pathOf(address.strip(new URL(request.url).pathname)),
  });

  app.use(async (c, next) => {
    await next();
    if (!c.res.headers.has('cache-control')) c.header('cache-control', 'no-store');
    metrics.countRequest(routeName(c.req.path), c.res.status);
  });

  app.on(['GET', 'POST'], '/twilio/voice', async (c) => {
    const { params } = await verified(c, parts);
    return xml(c, await parts.voice.answer(params));
  });

  app.post('/twilio/resume/:callId/:nonce', async (c) => {
    const { params } = await verified(c, parts);
    return xml(c, await resume(params, c.req.param(), parts));
  });

  app.post('/twilio/ring/:nonce', async (c) => {
    const { params } = await verified(c, parts);
    return xml(c, await parts.rings.answered(params, c.req.param('nonce')));
  });

  app.post('/twilio/after-transfer', async (c) => {
    const { params } = await verified(c, parts);
    return xml(c, afterTransfer(params));
  });

  app.post('/twilio/message-status/:deliveryId', async (c) => {
    const { params } = await verified(c, parts);
    const { receipts } = parts;
    if (receipts) onMessageStatus(params, c.req.param('deliveryId'), { receipts, logger });
    return c.body(null, 204);
  });

  app.post('/twilio/status', async (c) => {
    const { params } = await verified(c, parts);
    onStatus(params, parts);
    return c.body(null, 204);
  });

  app.get('/healthz', async (c) =>
    c.json({ status: 'ok', ...(parts.slot && { workers: await workerCounts(parts.slot) }) }),
  );

  app.get('/readyz', async (c) => {
    const own = await parts.ready.run(parts.isDraining());
    const all = parts.slot ? await readyOfAll(parts.slot, own) : own;
    return c.json({ status: all.ready ? 'ready' : 'not_ready', ...omitReady(all) }, all.ready ? 200 : 503);
  });

  for (const routes of parts.more) app.route('/', routes);

  app.notFound((c) => problem(c, new VoiceError('ROUTE_NOT_FOUND', 'There is nothing at this address.')));
  app.onError((error, c) => problem(c, error));

  function problem(c: Context, error: unknown): Response {
    const { status, code, body } = errorAnswer(error);
    const route = routeName(c.req.path);
    if (code === 'INTERNAL') logger.error({ err: error, route }, 'request failed');
    else if (code !== 'ROUTE_NOT_FOUND') logger.warn({ code, route }, 'request refused');
    // After a body that was not read to its end the connection can't be used again.
    return new Response(body, {
      status,
      headers: { 'content-type': 'application/json; charset=utf-8', connection: 'close' },
    });
  }

  return app;
}

async function verified(c: Context<Env>, parts: AppParts): Promise<VerifiedWebhook> {
  const { address, twilio, clock, metrics, logger } = parts;
  const target = address.strip(c.env.incoming.url ?? '/');
  const webhook = await verifyWebhook(c.req.raw, target, twilio, address.base, clock);
  if (webhook.unsigned.length > 0) {
    metrics.countUnsignedFields();
    logger.warn({ fields: webhook.unsigned }, 'webhook fields that Twilio did not sign were dropped');
  }
  return webhook;
}

function xml(c: Context, text: string): Response {
  return c.body(text, 200, { 'content-type': 'text/xml; charset=utf-8' });
}

function routeName(path: string): string {
  const name = ROUTE_NAMES[path] ?? ROUTE_PREFIXES.find(([prefix]) => path.startsWith(prefix))?.[1];
  return name ?? 'other';
}

/** A trailing slash is the same route. */
function pathOf(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}

function omitReady<T extends { ready: boolean }>({ ready: _, ...rest }: T): Omit<T, 'ready'> {
  return rest;
}
