/**
 * What the server counts, for Prometheus. No label holds anything of a caller's.
 *
 * @module
 */

import { Counter, Gauge, Registry } from 'prom-client';

/** Numbers that are read when somebody looks. */
export interface ServerGauges {
  readonly activeCalls: number;
  readonly pendingCalls: number;
  readonly mediaSockets: number;
  readonly unauthenticatedSockets: number;
  readonly streamTokens: number;
  readonly pageCalls: number;
  readonly pageGuests: number;
}

export class ServerMetrics {
  /** Other rooms may register theirs here. */
  readonly registry: Registry;
  readonly #requests: Counter<'route' | 'status'>;
  readonly #unsignedFields: Counter;

  constructor(read: () => ServerGauges, registry = new Registry()) {
    this.registry = registry;
    const registers = [registry];
    this.#requests = new Counter({
      name: 'nanobot_realtime_http_requests_total',
      help: 'Requests and upgrades, by route and HTTP status.',
      labelNames: ['route', 'status'],
      registers,
    });
    this.#unsignedFields = new Counter({
      name: 'nanobot_realtime_webhooks_unsigned_fields_total',
      help: 'Webhooks whose signature held only without StirVerstat or CallToken; those fields were dropped.',
      registers,
    });
    const gauge = (name: keyof ServerGauges, metric: string, help: string) =>
      new Gauge({
        name: `nanobot_realtime_${metric}`,
        help,
        registers,
        collect() {
          this.set(read()[name]);
        },
      });
    gauge('activeCalls', 'active_calls', 'Calls with a caller on the line.');
    gauge('pendingCalls', 'pending_calls', 'Calls admitted whose media stream is still to come.');
    gauge('mediaSockets', 'media_sockets', 'Open media streams.');
    gauge('unauthenticatedSockets', 'unauthenticated_sockets', 'Media sockets without a right token yet.');
    gauge('pageCalls', 'page_calls', 'Calls from web pages and other WebRTC clients.');
    gauge('pageGuests', 'page_guests', 'Sessions of guests who came by a link.');
    gauge('streamTokens', 'stream_tokens', 'Stream tokens that can still be used.');
  }

  /** @param route - a name from the code, never a path from a request */
  countRequest(route: string, status: number): void {
    this.#requests.inc({ route, status });
  }

  countUnsignedFields(): void {
    this.#unsignedFields.inc();
  }
}
