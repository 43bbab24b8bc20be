/**
 * The callers' pages that are connected now, one per call: what is sent to them, and what they say they show.
 *
 * @module
 */

import { z } from 'zod';
import type { Clock, ClockTimer } from '../clock.ts';
import { MAX_PAGES, MAX_SHOWN, RECEIPT_TIMEOUT_MS } from './limits.ts';

/** A page's own end of its socket. */
export interface PageSocket {
  send(text: string): void;
  close(code: number): void;
}

const deliveryId = z.string().regex(/^[\w-]{16}$/);

/** What a page says. `hello` comes first and names what it shows already, so that nothing is shown twice. */
const pageMessage = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('hello'), shown: z.array(deliveryId).max(MAX_SHOWN) }),
  z.strictObject({ type: z.literal('media.receipt'), id: deliveryId }),
]);

/** What a page is told. `url` is good for a few minutes and for this page's session only. */
export interface MediaEvent {
  readonly type: 'media';
  readonly id: string;
  readonly segment: number;
  readonly kind: string;
  readonly mime: string;
  readonly name: string;
  readonly size: number;
  readonly sha256: string;
  readonly caption: string;
  readonly url: string;
}

export type PageOutcome = 'shown' | 'timeout' | 'gone' | 'absent';

interface Page {
  readonly socket: PageSocket;
  readonly shown: Set<string>;
  /** Said hello; until then it is sent nothing. */
  ready: boolean;
}

interface Waiting {
  readonly page: Page;
  settle(outcome: PageOutcome): void;
}

export class Pages {
  readonly #clock: Clock;
  readonly #pages = new Map<string, Page>();
  readonly #waiting = new Map<string, Waiting>();
  /** A page is ready: what waits for it may go. */
  onReady: (callId: string) => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#pages.size;
  }

  isConnected(callId: string): boolean {
    return this.#pages.get(callId)?.ready ?? false;
  }

  /** Whether a connected page shows it; `null` when none is connected. */
  shows(callId: string, id: string): boolean | null {
    const page = this.#pages.get(callId);
    return page?.ready ? page.shown.has(id) : null;
  }

  /** A page's socket, already known to belong to this call; `null` when there are too many. The newest one counts. */
  connect(callId: string, socket: PageSocket): { message(text: string): void; closed(): void } | null {
    const before = this.#pages.get(callId);
    if (!before && this.#pages.size >= MAX_PAGES) return null;
    if (before) this.#remove(callId, before, 4001);
    const page: Page = { socket, shown: new Set(), ready: false };
    this.#pages.set(callId, page);
    return {
      message: (text) => this.#onMessage(callId, page, text),
      closed: () => this.#remove(callId, page, null),
    };
  }

  /** Resolves when the page says that it shows it, or can't any more. */
  show(callId: string, event: MediaEvent, signal: AbortSignal): Promise<PageOutcome> {
    const page = this.#pages.get(callId);
    if (!page?.ready || signal.aborted) return Promise.resolve('absent');
    if (page.shown.has(event.id)) return Promise.resolve('shown');
    return new Promise((resolve) => {
      const settle = (outcome: PageOutcome) => {
        if (this.#waiting.get(event.id)?.settle !== settle) return;
        this.#waiting.delete(event.id);
        timer.clear();
        signal.removeEventListener('abort', onAbort);
        resolve(outcome);
      };
      const onAbort = () => settle('timeout');
      const timer: ClockTimer = this.#clock.setTimeout(() => settle('timeout'), RECEIPT_TIMEOUT_MS);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.set(event.id, { page, settle });
      page.socket.send(JSON.stringify(event));
    });
  }

  close(): void {
    for (const [callId, page] of this.#pages) this.#remove(callId, page, 1001);
  }

  #onMessage(callId: string, page: Page, text: string): void {
    if (this.#pages.get(callId) !== page) return;
    const message = parse(text);
    if (!message || (message.type !== 'hello' && !page.ready)) {
      this.#remove(callId, page, 1008);
      return;
    }
    switch (message.type) {
      case 'hello':
        for (const id of message.shown) remember(page.shown, id);
        page.ready = true;
        this.onReady(callId);
        break;
      case 'media.receipt': {
        const waiting = this.#waiting.get(message.id);
        // A receipt counts from the page that the picture was sent to.
        if (waiting && waiting.page !== page) break;
        remember(page.shown, message.id);
        waiting?.settle('shown');
        break;
      }
      default:
        message satisfies never;
    }
  }

  #remove(callId: string, page: Page, code: number | null): void {
    if (this.#pages.get(callId) === page) this.#pages.delete(callId);
    for (const waiting of [...this.#waiting.values()]) if (waiting.page === page) waiting.settle('gone');
    if (code !== null) page.socket.close(code);
  }
}

function parse(text: string): z.output<typeof pageMessage> | null {
  try {
    return pageMessage.safeParse(JSON.parse(text)).data ?? null;
  } catch {
    return null;
  }
}

function remember(shown: Set<string>, id: string): void {
  shown.add(id);
  if (shown.size <= MAX_SHOWN) return;
  const oldest = shown.values().next().value;
  if (oldest !== undefined) shown.delete(oldest);
}
