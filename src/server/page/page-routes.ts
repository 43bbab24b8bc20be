/**
 * The routes of a caller's page but for its calls: who is there, what it needs to call, links for guests.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import { type Context, Hono } from 'hono';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { RealtimeConfig } from '../../config.ts';
import { VoiceError } from '../../errors.ts';
import { MAX_TYPED_CHARS } from '../../leg/page/index.ts';
import type { WebRtcPeers } from '../../leg/webrtc/index.ts';
import type { SharedLinks, WorkerSlot } from '../../worker-slot.ts';
import type { BrowserGuard } from '../pages/browser-guard.ts';
import { guarded, jsonBody, type OperatorLogin } from '../pages/operator-login.ts';
import type { PublicAddress } from '../public-address.ts';
import type { ClientAddress } from './client-address.ts';
import { type GuestLinks, MAX_NOTE_CHARS } from './guest-links.ts';
import type { PageAccess } from './page-access.ts';
import type { PageCalls } from './page-calls.ts';
import type { PageSessions } from './page-sessions.ts';

/** Without media for so long, a page calls by the WebSocket. */
export const FALLBACK_AFTER_MS = 8000;

const codeSchema = z.strictObject({ code: z.string().max(200) });
const linkSchema = z.strictObject({
  note: z.string().max(MAX_NOTE_CHARS).default(''),
  ttlMinutes: z.number().min(1).max(43_200).optional(),
});

export interface PageRoutesOptions {
  readonly config: RealtimeConfig;
  readonly guard: BrowserGuard;
  readonly address: PublicAddress;
  readonly clients: ClientAddress;
  readonly login: OperatorLogin;
  readonly access: PageAccess;
  readonly links: GuestLinks;
  readonly sessions: PageSessions;
  readonly calls: PageCalls;
  /** `null` where the media stack could not be loaded. */
  readonly peers: WebRtcPeers | null;
  readonly version: string;
  readonly has: { readonly approvals: boolean; readonly media: boolean };
  readonly slot: WorkerSlot | null;
  readonly clock: Clock;
}

/** What `@hono/node-server` hands on with a request. */
type Env = { Bindings: { incoming: IncomingMessage } };

export function addressOf(c: Context, clients: ClientAddress): string {
  const { incoming } = c.env as Env['Bindings'];
  return clients.of(incoming.socket.remoteAddress, c.req.raw.headers.get('x-forwarded-for'));
}

export function pageRoutes(options: PageRoutesOptions): Hono {
  const { guard, access, clients, links, sessions, calls, login, clock, slot } = options;
  if (slot) answerForLinks(slot, options);
  const app = new Hono();
  app.use('/page/*', (c, next) => guarded(guard, c, next));

  app.get('/page/session', async (c) => {
    const address = addressOf(c, clients);
    const user = await access.who(c.req.raw.headers, 'read', address);
    return c.json(sessionView(options, user, address));
  });
  app.post('/page/session', async (c) => {
    if (!guard.isOurOrigin(c.req.raw.headers))
      throw new VoiceError('ORIGIN_REFUSED', 'A code is taken from a page of our own only.');
    const { code } = await jsonBody(c, codeSchema, clock);
    c.header('set-cookie', access.exchange(code, addressOf(c, clients)).cookie);
    return c.json({ role: 'guest' });
  });
  app.delete('/page/session', async (c) => {
    const user = await access.who(c.req.raw.headers, 'write', addressOf(c, clients));
    if (user.role === 'guest') {
      sessions.remove(user.session);
      calls.endSession(user.session);
    }
    c.header('set-cookie', access.noCookie);
    return c.body(null, 204);
  });

  app.get('/page/links', async (c) => {
    await login.who(c.req.raw.headers, 'read');
    const others = (await slot?.askOthers<'links'>({ kind: 'links' })) ?? [];
    const all = [ownLinks(options), ...others];
    return c.json({
      links: all.flatMap((each) => each.links),
      guests: all.flatMap((each) => each.guests),
    });
  });
  app.post('/page/links', async (c) => {
    await login.who(c.req.raw.headers, 'write');
    const { note, ttlMinutes = options.config.page.guests.linkTtlMinutes } = await jsonBody(
      c,
      linkSchema,
      clock,
    );
    const made = slot
      ? await slot.askFreest<'new_link'>({ kind: 'new_link', note, ttlMs: ttlMinutes * 60_000 })
      : newLink(links, note, ttlMinutes * 60_000);
    if (!made) throw new VoiceError('TOO_MANY_CONNECTIONS', 'Too many links wait to be used.');
    const url = `${options.address.base}/talk#code=${made.code}`;
    return c.json({ url, code: made.code, expiresAt: made.expiresAt, id: made.id }, 201);
  });
  app.delete('/page/links/:id', async (c) => {
    await login.who(c.req.raw.headers, 'write');
    const id = c.req.param('id');
    const others = (await slot?.askOthers<'remove_link'>({ kind: 'remove_link', id })) ?? [];
    if (![removeLink(options, id), ...others].some(Boolean))
      throw new VoiceError('PAGE_LINK_NOT_FOUND', 'There is no such link or guest any more.');
    return c.body(null, 204);
  });
  return app;
}

function newLink(links: GuestLinks, note: string, ttlMs: number) {
  const made = links.make(note, ttlMs);
  return made && { code: made.code, id: made.link.id, expiresAt: made.link.expiresAt };
}

function ownLinks({ links, sessions, calls }: PageRoutesOptions): SharedLinks {
  const guests = sessions.list().map(({ id, note, since, until }) => {
    return { id, note, since, until, call: calls.newestOf(id)?.id ?? null };
  });
  return { links: links.list(), guests };
}

function removeLink({ links, sessions, calls }: PageRoutesOptions, id: string): boolean {
  const wasThere = [links.remove(id), sessions.remove(id)].some(Boolean);
  if (wasThere) calls.endSession(id);
  return wasThere;
}

/** Links are made where there are the fewest calls, and listed and taken back from anywhere. */
function answerForLinks(slot: WorkerSlot, options: PageRoutesOptions): void {
  slot.answers('links', () => ownLinks(options));
  slot.answers('new_link', ({ note, ttlMs }) => newLink(options.links, note, ttlMs));
  slot.answers('remove_link', ({ id }) => removeLink(options, id));
}

function sessionView(
  { config, peers, calls, version, has, clock }: PageRoutesOptions,
  user: { role: 'owner' | 'guest'; session: string },
  address: string,
) {
  const { page, webrtc, limits } = config;
  const whyNot = calls.whyNot(user, address);
  return {
    role: user.role,
    agent: { name: page.agentName },
    version,
    canCall: whyNot === null,
    whyNot: whyNot?.code ?? null,
    call: calls.newestOf(user.session)?.id ?? null,
    iceServers: peers?.iceServers(user.session.slice(0, 16)) ?? [],
    iceServersUntil: clock.wallNow() + webrtc.turn.ttlS * 1000,
    relayOnly: webrtc.relayOnly,
    webrtc: peers !== null,
    socket: true,
    fallbackAfterMs: FALLBACK_AFTER_MS,
    reconnectWithinMs: limits.reconnectGraceS * 1000,
    limits: { maxCallS: limits.maxCallS, typedChars: MAX_TYPED_CHARS },
    has,
  };
}
