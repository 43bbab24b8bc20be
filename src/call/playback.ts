/**
 * The playback ledger: what of each item the caller has heard. Truth comes from carrier marks; between marks, or
 * where there are none, from the pacing clock. Never from the inbound media clock and never from bytes generated
 * (both shipped as bugs elsewhere: a truncate past the real length is refused, and the model then believes that
 * it was heard to the end).
 *
 * Pure: no I/O, no timers; every time is an argument in monotonic ms.
 *
 * @module
 */

import { OutstandingMarks } from './outstanding-marks.ts';

/** Items in flight at once; the oldest is settled by force beyond it. */
export const MAX_LEDGER_ITEMS = 256;
/** A mark overdue by this much is proof that the leg does not return marks: from then on the clock decides. */
export const MARK_GRACE_MS = 5000;

/** `resumed`: words of the model's that a false alarm had cut off, said from where they were cut. */
export type ItemSource = 'model' | 'verbatim' | 'resumed';

/** How an item ended, in whole ms. */
export interface ItemHearing {
  readonly itemId: string;
  readonly source: ItemSource;
  readonly responseId: string;
  readonly heardMs: number;
  readonly receivedMs: number;
  /** `false`: cut short, or never heard at all. */
  readonly whole: boolean;
}

/** An item of which something is still to be heard or to come. */
export interface OpenItem {
  readonly itemId: string;
  readonly source: ItemSource;
  /** No more audio comes for it. */
  readonly complete: boolean;
  readonly heardMs: number;
}

interface Item {
  readonly itemId: string;
  readonly source: ItemSource;
  readonly responseId: string;
  receivedMs: number;
  sentMs: number;
  complete: boolean;
}

/** A run of one item on the stream: stream position `start`..`end` plays item position `itemStart`... */
interface Run {
  readonly itemId: string;
  readonly itemStart: number;
  readonly start: number;
  end: number;
}

const NOTHING: readonly ItemHearing[] = [];

export class PlaybackLedger {
  readonly #useMarks: boolean;
  readonly #items = new Map<string, Item>();
  /** Whether one of them is complete: only then can there be one that is over. */
  #hasComplete = false;
  #runs: Run[] = [];
  readonly #marks = new OutstandingMarks();
  #marksTrusted = true;
  /** Stream position, in ms, of the end of all that was sent. */
  #sentTotal = 0;
  /** At `#anchorAt` the playhead stood at `#anchorPosition` and was moving. */
  #anchorPosition = 0;
  #anchorAt = 0;

  /** @param options.marks - whether the leg returns marks (`capabilities.marks === 'echo'`) */
  constructor(options: { marks: boolean }) {
    this.#useMarks = options.marks;
  }

  get itemCount(): number {
    return this.#items.size;
  }

  get outstandingMarks(): number {
    return this.#marks.count;
  }

  /** The model generated (or our synthesiser made) `durationMs` more of an item. Returns items settled by force. */
  received(
    item: { itemId: string; source: ItemSource; responseId: string },
    durationMs: number,
    now: number,
  ): readonly ItemHearing[] {
    const known = this.#items.get(item.itemId);
    if (known) {
      known.receivedMs += durationMs;
      return NOTHING;
    }
    this.#items.set(item.itemId, { ...item, receivedMs: durationMs, sentMs: 0, complete: false });
    if (this.#items.size <= MAX_LEDGER_ITEMS) return NOTHING;
    const oldest = this.#items.values().next().value;
    if (!oldest) return NOTHING;
    const hearing = this.#hearing(oldest, now);
    this.#items.delete(oldest.itemId);
    return [hearing];
  }

  /** No more audio comes for this item. */
  completed(itemId: string): void {
    const item = this.#items.get(itemId);
    if (!item) return;
    item.complete = true;
    this.#hasComplete = true;
  }

  /** `durationMs` of an item left for the leg. Returns where in the item they begin. */
  sent(itemId: string, durationMs: number, now: number): number {
    const item = this.#items.get(itemId);
    if (!item) return 0;
    if (this.heardPosition(now) >= this.#sentTotal) {
      // The line was idle: the playhead starts again now.
      this.#anchorPosition = this.#sentTotal;
      this.#anchorAt = now;
    }
    const last = this.#runs.at(-1);
    if (last && last.itemId === itemId) last.end += durationMs;
    else
      this.#runs.push({
        itemId,
        itemStart: item.sentMs,
        start: this.#sentTotal,
        end: this.#sentTotal + durationMs,
      });
    // Padding of the last frame can make an item longer on the wire than it really is: what counts as heard stays
    // bounded by what was received.
    const startMs = item.sentMs;
    item.sentMs += durationMs;
    this.#sentTotal += durationMs;
    return startMs;
  }

  /** Reserves a mark at the end of what was sent; `null` when marks are of no use or too many are out. */
  mark(now: number): string | null {
    if (!this.#useMarks || !this.#marksTrusted) return null;
    const dueAt = this.#anchorAt + (this.#sentTotal - this.#anchorPosition);
    return this.#marks.add(this.#sentTotal, Math.max(now, dueAt));
  }

  /** The leg says that everything before this mark was heard. A mark we do not know does nothing. */
  markPlayed(name: string, now: number): void {
    const position = this.#marks.take(name);
    if (position === null) return;
    this.#anchorPosition = position;
    this.#anchorAt = now;
  }

  /** Stream position that was heard, in ms. */
  heardPosition(now: number): number {
    const byClock = Math.min(this.#sentTotal, this.#anchorPosition + Math.max(0, now - this.#anchorAt));
    if (this.#marks.count === 0) return byClock;
    if (now > this.#marks.nextDueAt + MARK_GRACE_MS) {
      this.#marksTrusted = false;
      this.#marks.clear();
      return byClock;
    }
    // A mark that has not come back was not reached, whatever the clock says.
    return Math.min(byClock, this.#marks.nextPosition);
  }

  /** Whether everything that was received has been sent and heard. */
  isIdle(now: number): boolean {
    if (this.heardPosition(now) < this.#sentTotal) return false;
    for (const item of this.#items.values()) if (item.sentMs < item.receivedMs) return false;
    return true;
  }

  /** When the clock expects everything sent so far to have been heard. */
  playoutEndsAt(now: number): number {
    return now + Math.max(0, this.#sentTotal - this.heardPosition(now));
  }

  heardMs(itemId: string, now: number): number {
    const item = this.#items.get(itemId);
    return item ? this.#hearing(item, now).heardMs : 0;
  }

  /** Responses of which something is still to be heard. */
  openResponses(now: number): Set<string> {
    const open = new Set<string>();
    for (const item of this.#items.values()) {
      if (!this.#isOver(item, now)) open.add(item.responseId);
    }
    return open;
  }

  /** The items that are not over, oldest first. */
  open(now: number): OpenItem[] {
    const open: OpenItem[] = [];
    for (const item of this.#items.values()) {
      if (this.#isOver(item, now)) continue;
      const { itemId, source, complete } = item;
      open.push({ itemId, source, complete, heardMs: this.#heard(itemId, now) });
    }
    return open;
  }

  /** Takes out and returns the items that are complete and were heard to the end, oldest first. */
  settle(now: number): readonly ItemHearing[] {
    if (!this.#hasComplete) return NOTHING;
    this.#hasComplete = false;
    const settled: ItemHearing[] = [];
    for (const item of this.#items.values()) {
      if (!this.#isOver(item, now)) {
        this.#hasComplete ||= item.complete;
        continue;
      }
      settled.push(this.#hearing(item, now));
      this.#items.delete(item.itemId);
    }
    const position = this.heardPosition(now);
    if (settled.length > 0)
      this.#runs = this.#runs.filter((run) => run.end > position || this.#items.has(run.itemId));
    return settled;
  }

  /**
   * Everything not yet heard is gone: the leg was cleared. Returns how each open item ended, oldest first.
   * Positions start anew; marks that were out are forgotten, so a late echo does nothing.
   */
  interrupt(now: number): ItemHearing[] {
    const ended = [...this.#items.values()].map((item) => this.#hearing(item, now));
    const position = this.heardPosition(now);
    this.#items.clear();
    this.#runs = [];
    this.#restart(position, now);
    return ended;
  }

  /**
   * The leg is gone, and with it what it had not played: that is to be sent again. Marks that were out are
   * forgotten.
   *
   * @param from - from where in the item it can be sent again; at most what was heard of it
   */
  rewind(now: number, from: (itemId: string, heardMs: number) => number): void {
    const position = this.heardPosition(now);
    for (const item of this.#items.values()) {
      const heardMs = this.#heard(item.itemId, now);
      if (item.sentMs > heardMs) item.sentMs = Math.min(item.sentMs, from(item.itemId, heardMs));
    }
    this.#runs = this.#runs.filter((run) => run.start < position);
    for (const run of this.#runs) run.end = Math.min(run.end, position);
    this.#restart(position, now);
  }

  #restart(position: number, now: number): void {
    this.#marks.clear();
    this.#sentTotal = position;
    this.#anchorPosition = position;
    this.#anchorAt = now;
  }

  #isOver(item: Item, now: number): boolean {
    if (!item.complete || item.sentMs < item.receivedMs) return false;
    const position = this.heardPosition(now);
    return !this.#runs.some((run) => run.itemId === item.itemId && run.end > position);
  }

  /** Ms of an item that came out of the loudspeaker, padding included. */
  #heard(itemId: string, now: number): number {
    const position = this.heardPosition(now);
    let heard = 0;
    for (const run of this.#runs) {
      if (run.itemId !== itemId || position <= run.start) continue;
      heard = run.itemStart + Math.min(run.end, position) - run.start;
    }
    return heard;
  }

  #hearing(item: Item, now: number): ItemHearing {
    const receivedMs = Math.floor(item.receivedMs);
    const heardMs = Math.min(receivedMs, Math.max(0, Math.floor(this.#heard(item.itemId, now))));
    return {
      itemId: item.itemId,
      source: item.source,
      responseId: item.responseId,
      heardMs,
      receivedMs,
      whole: item.complete && this.#isOver(item, now),
    };
  }
}
