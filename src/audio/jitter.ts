/**
 * The jitter buffer: packets in whatever order the network brings them, out in the order they were sent, with what is
 * missing filled in, so that as much comes out as time went by at the sender.
 *
 * Nobody listens at its end but a model and a recording, so nothing is held back for an even pace: a packet whose turn
 * it is leaves at once. What adapts is how long a gap waits for its packet (20 to 200 ms, as late as packets have been
 * lately); then the gap is filled, and the packet is dropped if it comes after all. When nothing comes at all, the
 * clock fills, so far behind that a burst after a stall still finds its place.
 *
 * Pure: no decoder, no timers; times are arguments in monotonic ms. Ticks are samples at 48 kHz, as in RTP.
 *
 * @module
 */

export const TICKS_PER_MS = 48;
/** Shortest and longest wait for a missing packet, in ms. */
export const MIN_WAIT_MS = 20;
export const MAX_WAIT_MS = 200;
/** Packets behind a gap; with one more it is filled, whatever the clock says. */
export const MAX_WAITING_PACKETS = 40;
/** How far the clock stays behind when it fills because nothing comes. */
export const STALL_LAG_MS = 200;
/** The same while the sender has said that it is silent. */
export const SILENT_LAG_MS = 60;
/** Most that is filled for one gap: longer than the longest pause that ends a turn (10 s). */
export const MAX_FILL_MS = 12_000;
/** Packets in order that all come too late, for so long: the sender's clock stood still, and is followed. */
export const LATE_RESYNC_MS = 200;
/** Sequence numbers that far off are not believed until the next one confirms them (RFC 3550, appendix A.1). */
const MAX_DROPOUT = 3000;
const MAX_MISORDER = 100;
/** Filled sequence numbers that are remembered, to tell a late packet from a repeated one. */
const MAX_FILLED = 512;
/** How late packets were is remembered in slots of this length. */
const SLOT_MS = 1000;
const SLOTS = 10;
/** On top of the latest that a packet was lately. */
const MARGIN_MS = 10;

export interface JitterPacket {
  /** 16 bits, as on the wire. */
  readonly sequence: number;
  /** 32 bits, as on the wire. */
  readonly timestamp: number;
  readonly payload: Uint8Array;
  /** Its length; 0 for a packet that holds a number in the sequence and no audio. */
  readonly ticks: number;
  /** The sender is silent from here on until the next packet. */
  readonly silent: boolean;
}

/** Takes what comes out, in order, without a seam. */
export interface JitterSink {
  /** A packet's turn. @param skipTicks - so much of its beginning has been filled in already */
  packet(payload: Uint8Array, ticks: number, skipTicks: number): void;
  /** Something is missing. @param next - the packet right behind it, which may carry a copy of its end */
  gap(ticks: number, next: JitterPacket | null): void;
  /** The sender said nothing for so long. */
  silence(ticks: number): void;
}

export interface JitterCounters {
  received: number;
  duplicates: number;
  /** Came after their place was filled, and were dropped. */
  late: number;
  /** Packets that never came, or not in time. */
  missing: number;
  /** Ms that were filled in for what is missing. */
  filledMs: number;
}

interface Waiting extends JitterPacket {
  readonly arrivedAt: number;
}

export class JitterBuffer {
  readonly counters: JitterCounters = { received: 0, duplicates: 0, late: 0, missing: 0, filledMs: 0 };
  readonly #sink: JitterSink;
  readonly #waiting = new Map<number, Waiting>();
  readonly #filled = new Set<number>();
  readonly #lateness = new Array<number>(SLOTS).fill(0);
  #slot = 0;
  #slotAt = 0;
  /** Counted on past 16 bits. */
  #highest: number | null = null;
  #next = 0;
  #suspect = -1;
  /** Everything before this time of the sender's has come out; counted on past 32 bits. */
  #position = 0;
  #silent = false;
  /** The sender's time `#anchor` was at `#anchorAt` here. */
  #anchor = 0;
  #anchorAt = 0;
  #fillBudget = MAX_FILL_MS * TICKS_PER_MS;
  #lateSince: number | null = null;

  constructor(sink: JitterSink) {
    this.#sink = sink;
  }

  /** How long a gap waits now, in ms. */
  get waitMs(): number {
    const lately = Math.max(...this.#lateness);
    return Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, lately > 0 ? lately + MARGIN_MS : 0));
  }

  get waitingPackets(): number {
    return this.#waiting.size;
  }

  /** The highest sequence number so far, counted on past its 16 bits; `null` before the first packet. */
  get highestSequence(): number | null {
    return this.#highest;
  }

  /** A packet came. Returns its sequence number counted on past 16 bits; `null` when it is not believed. */
  push(packet: JitterPacket, now: number): number | null {
    const sequence = this.#unwrap(packet, now);
    if (sequence === null) return null;
    this.counters.received += 1;
    this.#rollSlots(now);
    if (this.#highest === null || sequence > this.#highest) this.#highest = sequence;
    if (sequence < this.#next) {
      if (this.#filled.delete(sequence)) {
        this.counters.late += 1;
        // Nobody knows by how much: a gap waits longer from now on.
        this.#noteLateness(this.waitMs * 1.5);
      } else this.counters.duplicates += 1;
    } else if (this.#waiting.has(sequence)) this.counters.duplicates += 1;
    else {
      // Behind packets that were sent after it: so long a gap would have had to wait.
      if (sequence < this.#highest) this.#noteLateness(now - this.#waitingSince(sequence, now));
      this.#waiting.set(sequence, { ...packet, arrivedAt: now });
    }
    this.pull(now);
    return sequence;
  }

  /** Lets out what is due. To be called every 20 ms or so, and after nothing else. */
  pull(now: number): void {
    if (this.#highest === null) return;
    for (;;) {
      const packet = this.#waiting.get(this.#next);
      if (packet) {
        this.#waiting.delete(this.#next);
        this.#next += 1;
        this.#release(packet, now);
        continue;
      }
      if (this.#waiting.size === 0) break;
      if (!this.#isGapOver(now)) return;
      this.#skipGap();
    }
    this.#fillByClock(now);
  }

  #release(packet: Waiting, now: number): void {
    const start = this.#timeOf(packet.timestamp);
    const ahead = start - this.#position;
    if (packet.ticks === 0) return;
    // No sender can be so far ahead of the clock: its timestamps started anew.
    const elapsed = (now - this.#anchorAt + MAX_WAIT_MS * 5) * TICKS_PER_MS;
    const anew = ahead > elapsed || ahead < -MAX_FILL_MS * TICKS_PER_MS;
    if (!anew && start + packet.ticks <= this.#position) {
      this.#late(packet, start, now);
      return;
    }
    if (!anew && ahead > 0) this.#fill(ahead, packet);
    const skip = anew ? 0 : Math.max(0, this.#position - start);
    this.#play(packet, start, skip, now);
  }

  #play(packet: Waiting, start: number, skip: number, now: number): void {
    this.#lateSince = null;
    this.#position = start + packet.ticks;
    this.#silent = packet.silent;
    this.#anchor = this.#position;
    this.#anchorAt = now;
    this.#fillBudget = MAX_FILL_MS * TICKS_PER_MS;
    this.#sink.packet(packet.payload, packet.ticks, skip);
  }

  /** In its order, but its time has been filled by the clock. */
  #late(packet: Waiting, start: number, now: number): void {
    this.#lateSince ??= now;
    if (now - this.#lateSince >= LATE_RESYNC_MS) this.#play(packet, start, 0, now);
    else this.counters.late += 1;
  }

  #isGapOver(now: number): boolean {
    if (this.#waiting.size > MAX_WAITING_PACKETS) return true;
    return now - this.#waitingSince(this.#next, now) >= this.waitMs;
  }

  /** When the first of the packets came that wait behind a sequence number. */
  #waitingSince(sequence: number, now: number): number {
    let since = now;
    for (const [other, { arrivedAt }] of this.#waiting)
      if (other > sequence) since = Math.min(since, arrivedAt);
    return since;
  }

  /** What is missing before the first packet that waits will not come. */
  #skipGap(): void {
    let first = Number.POSITIVE_INFINITY;
    for (const sequence of this.#waiting.keys()) first = Math.min(first, sequence);
    this.counters.missing += first - this.#next;
    for (let sequence = Math.max(this.#next, first - MAX_FILLED); sequence < first; sequence += 1)
      this.#filled.add(sequence);
    for (const sequence of this.#filled) {
      if (this.#filled.size <= MAX_FILLED) break;
      this.#filled.delete(sequence);
    }
    this.#next = first;
    // What is missing was no silence, whatever the packet before it said.
    this.#silent = false;
  }

  /** Fills up to a packet that is there. */
  #fill(ticks: number, next: JitterPacket): void {
    const filled = Math.min(ticks, this.#fillBudget);
    if (this.#silent) this.#sink.silence(filled);
    else {
      this.#sink.gap(filled, next);
      this.counters.filledMs += filled / TICKS_PER_MS;
    }
  }

  /** Nothing comes, and nothing waits. */
  #fillByClock(now: number): void {
    const lag = this.#silent ? SILENT_LAG_MS : STALL_LAG_MS;
    const due = this.#anchor + (now - this.#anchorAt - lag) * TICKS_PER_MS;
    const step = 20 * TICKS_PER_MS;
    while (this.#position + step <= due && this.#fillBudget >= step) {
      this.#position += step;
      this.#fillBudget -= step;
      if (this.#silent) this.#sink.silence(step);
      else {
        this.#sink.gap(step, null);
        this.counters.filledMs += 20;
      }
    }
  }

  #unwrap(packet: JitterPacket, now: number): number | null {
    if (this.#highest === null) {
      this.#start(packet, packet.sequence, now);
      return packet.sequence;
    }
    const delta = ((packet.sequence - this.#highest) << 16) >> 16;
    if (delta > -MAX_MISORDER && delta < MAX_DROPOUT) return this.#highest + delta;
    if (packet.sequence !== this.#suspect) {
      this.#suspect = (packet.sequence + 1) & 0xffff;
      return null;
    }
    // Two in order: the sender has started anew.
    this.#waiting.clear();
    this.#filled.clear();
    const sequence = this.#highest + ((packet.sequence - this.#highest) & 0xffff || 0x10000);
    this.#highest = null;
    this.#start(packet, sequence, now);
    return sequence;
  }

  #start(packet: JitterPacket, sequence: number, now: number): void {
    this.#suspect = -1;
    this.#next = sequence;
    this.#position = packet.timestamp;
    this.#anchor = this.#position;
    this.#anchorAt = now;
    this.#lateSince = null;
  }

  /** A 32-bit timestamp as the one nearest to where we are. */
  #timeOf(timestamp: number): number {
    return this.#position + ((timestamp - this.#position) | 0);
  }

  #noteLateness(lateMs: number): void {
    this.#lateness[this.#slot] = Math.max(this.#lateness[this.#slot] ?? 0, lateMs);
  }

  #rollSlots(now: number): void {
    for (let turned = 0; now - this.#slotAt >= SLOT_MS && turned < SLOTS; turned += 1) {
      this.#slot = (this.#slot + 1) % SLOTS;
      this.#lateness[this.#slot] = 0;
      this.#slotAt += SLOT_MS;
    }
    if (now - this.#slotAt >= SLOT_MS) this.#slotAt = now;
  }
}
