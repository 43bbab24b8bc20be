/**
 * The response sequencer: one active response on a session, whoever asks. Requests wait, merge, or are sent again
 * after a collision; an error is matched to its request by id and to nothing else; a response that shows no sign
 * of life is cancelled; what a cancelled response still sends is not for the caller.
 *
 * Pure: decisions go out as effects, time comes in as an argument.
 *
 * @module
 */

/** Requests that may wait; beyond it the oldest is dropped and reported. */
export const MAX_WAITING_REQUESTS = 16;
/** Responses remembered as cancelled, so that their late audio is recognised. */
export const MAX_CANCELLED_RESPONSES = 256;
/** A request sent and not answered for this long counts as lost. */
export const REQUEST_TIMEOUT_MS = 10_000;
/** How often one request is sent again before it is given up. */
export const MAX_RESENDS = 3;
/** Wait after a collision whose other side we may not have seen yet. */
export const COLLISION_RETRY_MS = 250;

/**
 * - `continuation`: the model must speak about tool results; several merge into one.
 * - `refresh`: as above, but any response that starts later serves as well (its batch was interrupted, and the
 *   caller's own turn brings a response that sees the results).
 * - `prompt`: asks for particular words or has instructions; never merged, never lost.
 */
export type ResponseKind = 'continuation' | 'refresh' | 'prompt';

export interface ResponseWish {
  readonly kind: ResponseKind;
  readonly instructions?: string;
  readonly say?: string;
}

export type ResponseEffect =
  | { readonly type: 'request'; readonly requestId: string; readonly wish: ResponseWish }
  | { readonly type: 'cancel' }
  /** A response was given up by the deadman; the caller should hear something. */
  | { readonly type: 'stalled'; readonly responseId: string | null }
  /** A wish that will not come true. */
  | { readonly type: 'dropped'; readonly wish: ResponseWish };

interface Waiting {
  readonly wish: ResponseWish;
  readonly resends: number;
}

/** A request of ours that the model has neither started nor refused. */
interface Outstanding {
  readonly requestId: string;
  readonly waiting: Waiting;
  readonly at: number;
  cancelWanted: boolean;
}

interface Active {
  readonly responseId: string;
  lifeAt: number;
  cancelled: boolean;
}

export class ResponseSequencer {
  readonly #stallMs: number;
  readonly #cancelled = new Set<string>();
  #active: Active | null = null;
  #outstanding: Outstanding | null = null;
  #waiting: Waiting[] = [];
  #held = false;
  #retryAt: number | null = null;
  #requestCount = 0;

  /** @param options.stallMs - longest time without a sign of life of an active response */
  constructor(options: { stallMs: number }) {
    this.#stallMs = options.stallMs;
  }

  get activeResponseId(): string | null {
    return this.#active?.responseId ?? null;
  }

  /** A response is active or asked for, and nobody has cancelled it. */
  get isBusy(): boolean {
    return (
      (this.#active !== null && !this.#active.cancelled) ||
      (this.#outstanding !== null && !this.#outstanding.cancelWanted)
    );
  }

  /** Nothing is active, asked for or waiting. */
  get isIdle(): boolean {
    return this.#active === null && this.#outstanding === null && this.#waiting.length === 0;
  }

  get waitingCount(): number {
    return this.#waiting.length;
  }

  get cancelledCount(): number {
    return this.#cancelled.size;
  }

  isCancelled(responseId: string): boolean {
    return this.#cancelled.has(responseId);
  }

  request(wish: ResponseWish, now: number): ResponseEffect[] {
    const effects: ResponseEffect[] = [];
    if (!this.#merges(wish)) this.#waiting.push({ wish, resends: 0 });
    if (this.#waiting.length > MAX_WAITING_REQUESTS) {
      const dropped = this.#waiting.shift();
      if (dropped) effects.push({ type: 'dropped', wish: dropped.wish });
    }
    return [...effects, ...this.#next(now)];
  }

  /** While held (the caller has the floor) nothing is asked for; what waits is kept. */
  hold(): void {
    this.#held = true;
  }

  release(now: number): ResponseEffect[] {
    this.#held = false;
    return this.#next(now);
  }

  /**
   * A response began. Without our `requestId` it is the model's own, and a request of ours that is on its way
   * collides with it: the model will refuse that one by name.
   */
  started(response: { responseId: string; requestId?: string }, now: number): ResponseEffect[] {
    this.#active = { responseId: response.responseId, lifeAt: now, cancelled: false };
    this.#waiting = this.#waiting.filter((each) => each.wish.kind !== 'refresh');
    const ours = this.#outstanding;
    if (!ours || ours.requestId !== response.requestId) return [];
    this.#outstanding = null;
    return ours.cancelWanted ? this.#cancelActive() : [];
  }

  /** Anything that the active response sends. */
  sign(responseId: string, now: number): void {
    if (this.#active?.responseId === responseId) this.#active.lifeAt = now;
  }

  done(responseId: string, now: number): ResponseEffect[] {
    if (this.#active?.responseId !== responseId) return [];
    this.#active = null;
    return this.#next(now);
  }

  /**
   * The model refused a request of ours, named by its id; any other id does nothing. After a collision the request
   * waits for the end of the response in its way and is sent again.
   */
  refused(requestId: string, collision: boolean, now: number): ResponseEffect[] {
    const ours = this.#outstanding;
    if (!ours || ours.requestId !== requestId) return [];
    this.#outstanding = null;
    if (ours.cancelWanted) return this.#next(now);
    if (!collision || ours.waiting.resends >= MAX_RESENDS) {
      return [{ type: 'dropped', wish: ours.waiting.wish }, ...this.#next(now)];
    }
    this.#waiting.unshift({ wish: ours.waiting.wish, resends: ours.waiting.resends + 1 });
    // The response in the way may not be known to us yet; a short wait keeps us from asking in circles.
    this.#retryAt = now + COLLISION_RETRY_MS;
    return [];
  }

  /**
   * The caller interrupts: the active response is cancelled once, an outstanding request as soon as it starts
   * (a cancel before `responseStarted` is ignored by the model).
   */
  interrupt(modelCancelsItself: boolean): ResponseEffect[] {
    if (this.#outstanding) this.#outstanding.cancelWanted = true;
    const active = this.#active;
    if (!active || active.cancelled) return [];
    if (!modelCancelsItself) return this.#cancelActive();
    this.#markCancelled(active.responseId);
    active.cancelled = true;
    return [];
  }

  /** What this response still sends is not for the caller. */
  discard(responseId: string): void {
    this.#markCancelled(responseId);
  }

  /** The session is gone: nothing is active any more; prompts wait for the next session, the rest is dropped. */
  reset(): void {
    if (this.#active) this.#markCancelled(this.#active.responseId);
    const ours = this.#outstanding;
    if (ours && !ours.cancelWanted) this.#waiting.unshift(ours.waiting);
    this.#active = null;
    this.#outstanding = null;
    this.#held = false;
    this.#retryAt = null;
    this.#waiting = this.#waiting.filter((each) => each.wish.kind === 'prompt');
  }

  tick(now: number): ResponseEffect[] {
    const effects: ResponseEffect[] = [];
    const ours = this.#outstanding;
    if (ours && now - ours.at >= REQUEST_TIMEOUT_MS) {
      this.#outstanding = null;
      if (!ours.cancelWanted) {
        effects.push({ type: 'stalled', responseId: null });
        if (ours.waiting.resends < MAX_RESENDS) {
          this.#waiting.unshift({ wish: ours.waiting.wish, resends: ours.waiting.resends + 1 });
        } else effects.push({ type: 'dropped', wish: ours.waiting.wish });
      }
    }
    const active = this.#active;
    if (active && now - active.lifeAt >= this.#stallMs) {
      if (!active.cancelled) effects.push({ type: 'cancel' });
      this.#markCancelled(active.responseId);
      // The end of a stalled response may never come: it is over for us, and a late one is ignored by its id.
      this.#active = null;
      effects.push({ type: 'stalled', responseId: active.responseId });
    }
    return [...effects, ...this.#next(now)];
  }

  #merges(wish: ResponseWish): boolean {
    if (wish.kind === 'prompt') return false;
    return this.#waiting.some((each) => each.wish.kind === wish.kind || each.wish.kind === 'continuation');
  }

  #next(now: number): ResponseEffect[] {
    if (this.#held || this.#active || this.#outstanding) return [];
    if (this.#retryAt !== null && now < this.#retryAt) return [];
    this.#retryAt = null;
    const waiting = this.#waiting.shift();
    if (!waiting) return [];
    const requestId = `rq_${++this.#requestCount}`;
    this.#outstanding = { requestId, waiting, at: now, cancelWanted: false };
    return [{ type: 'request', requestId, wish: waiting.wish }];
  }

  #cancelActive(): ResponseEffect[] {
    if (!this.#active) return [];
    this.#markCancelled(this.#active.responseId);
    this.#active.cancelled = true;
    return [{ type: 'cancel' }];
  }

  #markCancelled(responseId: string): void {
    this.#cancelled.add(responseId);
    if (this.#cancelled.size <= MAX_CANCELLED_RESPONSES) return;
    const oldest = this.#cancelled.values().next().value;
    if (oldest !== undefined) this.#cancelled.delete(oldest);
  }
}
