/**
 * The caller's own page: an event with a link over its socket; the page's receipt makes it sent.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import { PAGE_LINK_MS, PAGE_WAIT_MS } from '../limits.ts';
import type { LinkSigner } from '../links.ts';
import type { Pages } from '../pages.ts';
import type { DeliveryRoute, SendOutcome } from './contract.ts';

export interface PageRouteOptions {
  readonly pages: Pages;
  readonly signer: LinkSigner;
  readonly clock: Clock;
}

/** Nobody is counted as not having taken it while they are not there. */
const ABSENT: SendOutcome = {
  kind: 'failed',
  error: 'not_ready',
  uncounted: true,
  retryAfterMs: PAGE_WAIT_MS,
};

export function pageRoute({ pages, signer, clock }: PageRouteOptions): DeliveryRoute {
  return {
    route: 'page',
    async send({ row, address, load }, signal) {
      if (!pages.isConnected(address)) return ABSENT;
      const { attachment } = await load();
      const { deliveryId: id, segment, caption } = row;
      const { kind, mime, name, size, sha256 } = attachment;
      const url = signer.path('page', row, address, clock.wallNow() + PAGE_LINK_MS);
      const event = { type: 'media', id, segment, kind, mime, name, size, sha256, caption, url } as const;
      const outcome = await pages.show(address, event, signal);
      switch (outcome) {
        case 'shown':
          return { kind: 'accepted' };
        case 'absent':
          return ABSENT;
        case 'timeout':
          // A page shows one delivery once, however often it is told.
          return { kind: 'failed', error: 'timeout' };
        case 'gone':
          return { kind: 'unknown' };
        default:
          return outcome satisfies never;
      }
    },
    async reconcile({ row, address }) {
      const shown = pages.shows(address, row.deliveryId);
      return shown === null ? 'unknown' : shown ? 'accepted' : 'rejected';
    },
  };
}
