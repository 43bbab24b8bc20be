/**
 * Everything about calls from pages, put together for the server.
 *
 * @module
 */

import { Hono } from 'hono';
import type { ApprovalSystem } from '../../approval/index.ts';
import type { Clock } from '../../clock.ts';
import type { RealtimeConfig } from '../../config.ts';
import type { WebRtcPeers } from '../../leg/webrtc/index.ts';
import type { Media } from '../../media/index.ts';
import type { Logger } from '../../observe/index.ts';
import type { WorkerSlot } from '../../worker-slot.ts';
import type { Desk } from '../desk.ts';
import type { BrowserGuard } from '../pages/browser-guard.ts';
import type { OperatorLogin } from '../pages/operator-login.ts';
import type { PublicAddress } from '../public-address.ts';
import { ClientAddress } from './client-address.ts';
import { GuestLinks } from './guest-links.ts';
import { PageAccess } from './page-access.ts';
import { PageApprovals } from './page-approvals.ts';
import { PageCalls } from './page-calls.ts';
import { PageLines } from './page-lines.ts';
import { pageRoutes } from './page-routes.ts';
import { PageSessions } from './page-sessions.ts';
import { PageSockets } from './page-sockets.ts';
import { PageTickets } from './page-tickets.ts';
import { WhipRoutes } from './whip-routes.ts';

export interface PagePartsOptions {
  readonly config: RealtimeConfig;
  readonly desk: Desk;
  readonly guard: BrowserGuard;
  readonly address: PublicAddress;
  readonly login: OperatorLogin;
  readonly peers: WebRtcPeers | null;
  readonly approvals: ApprovalSystem | null;
  readonly media: Media | null;
  readonly version: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isDraining: () => boolean;
  /** One worker of several: it names its secrets, and links are those of all. */
  readonly slot?: WorkerSlot | null;
}

export interface PageParts {
  readonly calls: PageCalls;
  readonly sessions: PageSessions;
  readonly sockets: PageSockets;
  routes(): Hono;
}

export function createPageParts(options: PagePartsOptions): PageParts {
  const {
    config,
    desk,
    guard,
    address,
    login,
    peers,
    approvals,
    media,
    clock,
    logger,
    slot = null,
  } = options;
  const tag = slot?.tag;
  const links = new GuestLinks(clock, tag);
  const sessions = new PageSessions(clock, tag);
  const tickets = new PageTickets(clock, tag);
  const clients = new ClientAddress(config.server.trustedProxies);
  const access = new PageAccess({ login, guard, links, sessions, clock });
  const lines = new PageLines({
    approvals: approvals && new PageApprovals(approvals, config.page, clock),
    media,
    path: (path) => address.path(path),
    clock,
    logger,
  });
  const calls = new PageCalls({ config, desk, lines, clock, logger, isDraining: options.isDraining });
  sessions.isBusy = (id) => calls.newestOf(id) !== null;
  const shared = { config, guard, address, clients, access, calls, peers, clock };
  const whip = new WhipRoutes({ ...shared, tickets, media });
  const has = { approvals: approvals !== null, media: media !== null };
  return {
    calls,
    sessions,
    sockets: new PageSockets({ config, guard, calls, tickets, clock, logger }),
    routes: () =>
      new Hono()
        .route('/', pageRoutes({ ...shared, login, links, sessions, slot, version: options.version, has }))
        .route('/', whip.routes()),
  };
}
