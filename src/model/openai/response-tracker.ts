/**
 * Which responses are coming, running and cancelled, as far as the wire tells. Pure: time comes in as an argument.
 *
 * @module
 */

import { BoundedMap } from './bounded-map.ts';

/** Requests sent and neither started nor refused; beyond it the oldest is forgotten. */
export const MAX_EXPECTED_RESPONSES = 32;
/** Cancelled responses remembered, so that what they still send is dropped. */
export const MAX_CANCELLED_RESPONSES = 256;
/** How long after the caller's turn a response of the server's own making is expected. */
export const AUTO_RESPONSE_WINDOW_MS = 5000;

export type CancelDecision =
  | { readonly type: 'send'; readonly responseId: string }
  /** Nothing to cancel yet: sent as soon as the response exists. The server ignores it before that. */
  | { readonly type: 'later' }
  | { readonly type: 'already' }
  | { readonly type: 'nothing' };

export class ResponseTracker {
  readonly #correlation: 'metadata' | 'order';
  /** Request id → whether a cancel is wanted once it has started. */
  readonly #requested = new BoundedMap<string, boolean>(MAX_EXPECTED_RESPONSES);
  readonly #cancelled = new BoundedMap<string, true>(MAX_CANCELLED_RESPONSES);
  /** What was asked for, oldest first; `null` is the server's own answer to the caller's turn. */
  #order: (string | null)[] = [];
  #auto: { until: number; cancelWanted: boolean } | null = null;
  #activeId: string | null = null;

  constructor(correlation: 'metadata' | 'order') {
    this.#correlation = correlation;
  }

  get activeId(): string | null {
    return this.#activeId;
  }

  /** The caller's turn was committed: the server will answer by itself. */
  expectAuto(at: number): void {
    this.forgetAuto();
    this.#auto = { until: at + AUTO_RESPONSE_WINDOW_MS, cancelWanted: false };
    this.#order.push(null);
  }

  /** The caller speaks again: an answer that was wanted gone is no longer about to come. */
  forgetAuto(): void {
    this.#auto = null;
    this.#order = this.#order.filter((each) => each !== null);
  }

  /** A request of ours was sent. */
  expectRequest(requestId: string): void {
    this.#requested.set(requestId, false);
    this.#order.push(requestId);
    if (this.#order.length > MAX_EXPECTED_RESPONSES) this.#order.shift();
  }

  /** The server refused a request. Returns whether it was one of ours. */
  refused(requestId: string): boolean {
    this.#order = this.#order.filter((each) => each !== requestId);
    return this.#requested.delete(requestId);
  }

  /** A response started. `metadataId` is the request id that came back in its metadata. */
  created(
    responseId: string,
    metadataId: string | null,
    at: number,
  ): { requestId: string | null; cancel: boolean } {
    this.#activeId = responseId;
    if (this.#auto && at > this.#auto.until) this.forgetAuto();
    const requestId = this.#claim(metadataId);
    let cancel = false;
    if (requestId !== null) {
      cancel = this.#requested.get(requestId) ?? false;
      this.refused(requestId);
    } else {
      cancel = this.#auto?.cancelWanted ?? false;
      this.forgetAuto();
    }
    if (cancel) this.#cancelled.set(responseId, true);
    return { requestId, cancel };
  }

  done(responseId: string): void {
    if (this.#activeId === responseId) this.#activeId = null;
  }

  wantCancel(at: number): CancelDecision {
    if (this.#activeId !== null) {
      if (this.#cancelled.has(this.#activeId)) return { type: 'already' };
      this.#cancelled.set(this.#activeId, true);
      return { type: 'send', responseId: this.#activeId };
    }
    let wanted = false;
    for (const requestId of this.#order) {
      if (requestId === null) continue;
      this.#requested.set(requestId, true);
      wanted = true;
    }
    if (this.#auto && at <= this.#auto.until) {
      this.#auto.cancelWanted = true;
      wanted = true;
    }
    return wanted ? { type: 'later' } : { type: 'nothing' };
  }

  isCancelled(responseId: string): boolean {
    return this.#cancelled.has(responseId);
  }

  #claim(metadataId: string | null): string | null {
    if (metadataId !== null && this.#requested.has(metadataId)) return metadataId;
    return this.#correlation === 'order' ? (this.#order[0] ?? null) : null;
  }
}
