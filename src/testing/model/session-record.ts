/**
 * What passed over one connection to the fake model, for a test to look at.
 *
 * @module
 */

import type { ClientEvent } from './client-event-schema.ts';
import type { TypedEvent } from './script.ts';

/** Events kept in `received` and in `sent`; the older half goes when one is full. */
export const MAX_RECORDED_EVENTS = 100_000;

/** A message of the client's that was answered with an error. */
export interface Violation {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  readonly event: unknown;
}

export type WireEvent = TypedEvent & Readonly<Record<string, unknown>>;

export class SessionRecord {
  /** What the client sent that was in order, except audio, which is counted in `inputMs`. */
  readonly received: ClientEvent[] = [];
  readonly sent: WireEvent[] = [];
  readonly violations: Violation[] = [];
  /** What scripts threw; the response failed. */
  readonly scriptErrors: unknown[] = [];

  /** Events received of one type. */
  receivedOf<T extends ClientEvent['type']>(type: T): Extract<ClientEvent, { type: T }>[] {
    return this.received.filter((event): event is Extract<ClientEvent, { type: T }> => event.type === type);
  }

  sentOf(type: string): WireEvent[] {
    return this.sent.filter((event) => event.type === type);
  }

  /** Drops what was recorded so far, for calls that go on for hours: `received` and `sent` begin anew. */
  forget(): void {
    this.received.length = 0;
    this.sent.length = 0;
  }
}

/** Keeps an event, and no more than the bound. */
export function record<T>(list: T[], event: T): void {
  if (list.length >= MAX_RECORDED_EVENTS) list.splice(0, MAX_RECORDED_EVENTS / 2);
  list.push(event);
}
