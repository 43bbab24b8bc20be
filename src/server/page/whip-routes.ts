/**
 * A page's calls over HTTP, WHIP-shaped (RFC 9725), so that other clients can call too; and the ticket of the WebSocket
 * fallback.
 *
 * @module
 */

import { type Context, Hono } from 'hono';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { RealtimeConfig } from '../../config.ts';
import { VoiceError } from '../../errors.ts';
import type { WebRtcAnswer, WebRtcPeers } from '../../leg/webrtc/index.ts';
import type { Media } from '../../media/index.ts';
import { readBody } from '../body.ts';
import { pageCookie } from '../media/index.ts';
import type { BrowserGuard } from '../pages/browser-guard.ts';
import { isJsonBody, jsonBody } from '../pages/operator-login.ts';
import type { PublicAddress } from '../public-address.ts';
import type { ClientAddress } from './client-address.ts';
import type { PageAccess, PageUser } from './page-access.ts';
import type { CallRequest, PageCall, PageCalls } from './page-calls.ts';
import { addressOf } from './page-routes.ts';
import type { PageTickets } from './page-tickets.ts';

const socketSchema = z.strictObject({ transport: z.literal('socket') });
const callIdSchema = z.string().regex(/^[0-9a-f]{32}$/);
const SDP = /^application\/sdp\b/i;
const FRAGMENT = /^application\/trickle-ice-sdpfrag\b/i;

export interface WhipRoutesOptions {
  readonly config: RealtimeConfig;
  readonly guard: BrowserGuard;
  readonly address: PublicAddress;
  readonly clients: ClientAddress;
  readonly access: PageAccess;
  readonly calls: PageCalls;
  readonly tickets: PageTickets;
  readonly peers: WebRtcPeers | null;
  readonly media: Media | null;
  readonly clock: Clock;
}

/** Whose connection it is. */
interface Owned {
  readonly session: string;
}

export class WhipRoutes {
  readonly #options: WhipRoutesOptions;
  /** Connections by the id in their `Location`; each goes with its leg. */
  readonly #connections = new Map<string, Owned>();

  constructor(options: WhipRoutesOptions) {
    this.#options = options;
  }

  /** Connections that are open. */
  get size(): number {
    return this.#connections.size;
  }

  routes(): Hono {
    const app = new Hono();
    app.post('/page/calls', (c) => this.#post(c));
    app.patch('/page/calls/:id', (c) => this.#patch(c));
    app.delete('/page/calls/:id', (c) => this.#delete(c));
    app.options('/page/calls', (c) =>
      c.body(null, 204, { allow: 'POST, OPTIONS', 'accept-post': 'application/sdp' }),
    );
    app.options('/page/calls/:id', (c) =>
      c.body(null, 204, {
        allow: 'PATCH, DELETE, OPTIONS',
        'accept-patch': 'application/trickle-ice-sdpfrag',
      }),
    );
    return app;
  }

  async #post(c: Context): Promise<Response> {
    const { access, clients, calls } = this.#options;
    const address = addressOf(c, clients);
    const user = await access.who(c.req.raw.headers, 'write', address);
    const named = c.req.query('call');
    const callId = named === undefined ? null : callIdSchema.safeParse(named).data;
    if (callId === undefined) throw new VoiceError('CALL_NOT_FOUND', 'There is no such call of this page.');
    const request = { user, address, callId };
    const type = c.req.raw.headers.get('content-type') ?? '';
    const isSdp = SDP.test(type);
    if (!isSdp && !isJsonBody(c)) throw wrongType('application/sdp or application/json');
    const release = calls.reserve(request);
    try {
      return await (isSdp ? this.#answer(c, request) : this.#offerSocket(c, request));
    } finally {
      release();
    }
  }

  async #offerSocket(c: Context, request: CallRequest): Promise<Response> {
    const { calls, tickets, clock, address } = this.#options;
    await jsonBody(c, socketSchema, clock);
    const call = await calls.admit(request);
    const ticket = tickets.issue(call.id, request.user);
    if (ticket === null)
      throw new VoiceError('TOO_MANY_CONNECTIONS', 'Too many calls wait for their WebSocket.');
    this.#setMediaCookie(c, call);
    const socket = address.path(`/page/socket/${ticket}`);
    return c.json({ call: call.id, socket }, 201, { 'call-id': call.id });
  }

  async #answer(c: Context, request: CallRequest): Promise<Response> {
    const { peers, calls, clock, config, address } = this.#options;
    if (!peers) throw new VoiceError('WEBRTC_UNAVAILABLE', 'There is no WebRTC here; use the WebSocket.');
    const offer = Buffer.from(await readBody(c.req.raw, clock)).toString('utf8');
    const link = calls.newLink(request.user);
    const noMediaTimeoutMs = config.limits.noMediaTimeoutS * 1000;
    const answer = await peers.answer(offer, { link, noMediaTimeoutMs });
    let call: PageCall;
    try {
      this.#keep(answer, request.user);
      call = await calls.admit(request);
      calls.attach(call, { leg: answer.leg, link, transport: 'webrtc' });
    } catch (error) {
      calls.abandon(answer.leg);
      throw error;
    }
    this.#setMediaCookie(c, call);
    for (const each of peers.iceServerLinks(request.user.session.slice(0, 16)))
      c.header('link', each, { append: true });
    return c.body(answer.sdp, 201, {
      'content-type': 'application/sdp',
      location: address.path(`/page/calls/${answer.id}`),
      etag: `"${answer.etag}"`,
      'call-id': call.id,
    });
  }

  #keep({ id, leg }: WebRtcAnswer, { session }: PageUser): void {
    this.#connections.set(id, { session });
    leg.on('closed', () => this.#connections.delete(id));
  }

  async #patch(c: Context): Promise<Response> {
    const { peers, clock } = this.#options;
    const id = await this.#own(c);
    if (!FRAGMENT.test(c.req.raw.headers.get('content-type') ?? ''))
      throw wrongType('application/trickle-ice-sdpfrag');
    const fragment = Buffer.from(await readBody(c.req.raw, clock)).toString('utf8');
    const match = c.req.raw.headers.get('if-match')?.trim() ?? null;
    const etag = match === null || match === '*' ? null : match.replace(/^(?:W\/)?"?|"$/g, '');
    peers?.addCandidates(id, fragment, etag);
    return c.body(null, 204);
  }

  async #delete(c: Context): Promise<Response> {
    const id = await this.#own(c);
    this.#options.peers?.hangup(id);
    return c.body(null, 200);
  }

  /** @throws VoiceError `LEG_CLOSED` when the connection is gone, or was never this session's */
  async #own(c: Context): Promise<string> {
    const { access, clients } = this.#options;
    const user = await access.who(c.req.raw.headers, 'write', addressOf(c, clients));
    const id = c.req.param('id') ?? '';
    const connection = this.#connections.get(id);
    if (!connection || connection.session !== user.session)
      throw new VoiceError('LEG_CLOSED', 'That connection is over.');
    return id;
  }

  /** The browser of this page, and no other, opens the pictures of this call. */
  #setMediaCookie(c: Context, call: PageCall): void {
    const { media, guard, clock, config, address } = this.#options;
    if (!media) return;
    const now = clock.wallNow();
    const expiresAt = now + config.limits.maxCallS * 1000 + 3_600_000;
    const { isSecure } = guard;
    const path = address.path('/media');
    c.header('set-cookie', pageCookie(media.signer, call.id, { expiresAt, now, isSecure, path }));
  }
}

const wrongType = (wanted: string) => new VoiceError('PAGE_MEDIA_TYPE', `The body is to be ${wanted}.`);
