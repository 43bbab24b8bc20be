/**
 * Everything that browsers get: the built pages, calls from them, the operator's interface, the approvals board.
 *
 * @module
 */

import type { Hono } from 'hono';
import type { ApprovalSystem, OperatorSecret } from '../approval/index.ts';
import type { Clock } from '../clock.ts';
import type { RealtimeConfig } from '../config.ts';
import type { WebRtcPeers } from '../leg/webrtc/index.ts';
import type { Media } from '../media/index.ts';
import type { Logger } from '../observe/index.ts';
import type { Store } from '../store/index.ts';
import type { WorkerSlot } from '../worker-slot.ts';
import type { Desk } from './desk.ts';
import type { ReadyChecks } from './health.ts';
import {
  type CallRecords,
  type ConfiguredPart,
  callRoutes,
  deliveryRoutes,
  statusRoutes,
} from './operate/index.ts';
import { createPageParts, type PageParts, staticPages } from './page/index.ts';
import { ApprovalBoard } from './pages/approval-board.ts';
import { ApprovalHooks } from './pages/approval-hooks.ts';
import { BoardLive } from './pages/board-live.ts';
import type { BrowserGuard } from './pages/browser-guard.ts';
import { OperatorLogin } from './pages/operator-login.ts';
import type { PublicAddress } from './public-address.ts';

/** The operator's login; with approvals, also the board and the webhooks that decide. */
export interface OperatorParts {
  readonly approvals: ApprovalSystem | null;
  readonly secret: OperatorSecret;
}

/** What the operator's page shows of calls and deliveries, now and before. */
export interface OperatorArchive {
  readonly store: Store;
  readonly records: CallRecords;
  /** Folder with recordings; `null` where none are kept. */
  readonly recordings: string | null;
}

/** What an embedder hands over for pages; all of it may be missing. */
export interface BrowserOptions {
  readonly operator?: OperatorParts;
  /** WebRTC for pages; without it they have the WebSocket only. */
  readonly peers?: WebRtcPeers | null;
  readonly archive?: OperatorArchive;
  /** What the operator's page says of what is configured. */
  readonly configured?: () => readonly ConfiguredPart[];
  /** Of this package. */
  readonly version?: string;
  /** Where the built pages are. @defaultValue `web/dist` of this package */
  readonly webDirectory?: string;
}

export interface BrowserSideOptions extends BrowserOptions {
  readonly config: RealtimeConfig;
  readonly desk: Desk;
  readonly guard: BrowserGuard;
  readonly address: PublicAddress;
  readonly ready: ReadyChecks;
  readonly slot: WorkerSlot | null;
  readonly media: Media | null;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly isDraining: () => boolean;
}

export interface BrowserSide {
  readonly routes: readonly Hono[];
  readonly board: BoardLive | null;
  readonly page: PageParts | null;
}

/** Without an operator there is nobody to let anybody in: no pages. */
export function createBrowserSide(options: BrowserSideOptions): BrowserSide {
  const { operator, config, guard, clock, logger, desk, ready, isDraining, media, slot } = options;
  if (!operator) return { routes: [], board: null, page: null };
  const { approvals, secret } = operator;
  const { version = '0.0.0', archive, webDirectory, configured = () => [] } = options;
  const login = new OperatorLogin({ secret, guard, clock, ...(slot ? { tag: slot.tag } : {}) });
  const page = config.page.enabled
    ? createPageParts({ ...options, login, approvals, media, peers: options.peers ?? null, version })
    : null;
  const has = {
    approvals: approvals !== null,
    media: media !== null,
    records: archive !== undefined && config.page.records.enabled,
  };
  const routes = [
    login.routes(),
    statusRoutes({
      login,
      config,
      ready,
      isDraining,
      desk,
      pageCalls: () => page?.calls.size ?? 0,
      version,
      configured,
      has,
      clock,
      slot,
    }),
  ];
  if (page)
    routes.push(staticPages({ guard, ...(webDirectory && { directory: webDirectory }) }), page.routes());
  if (approvals) {
    routes.push(new ApprovalBoard({ approvals, login, clock }).routes());
    routes.push(new ApprovalHooks(approvals, clock).routes());
  }
  if (archive) {
    routes.push(callRoutes({ ...archive, login, desk, clock, slot }));
  }
  routes.push(deliveryRoutes({ login, store: media?.store ?? null, clock }));
  const board = approvals && new BoardLive({ approvals, login, guard, clock });
  logger.debug({ pages: page !== null }, 'pages are served');
  return { routes, board, page };
}
