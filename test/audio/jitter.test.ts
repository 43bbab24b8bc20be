import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  JitterBuffer,
  type JitterPacket,
  LATE_RESYNC_MS,
  MAX_FILL_MS,
  MAX_WAIT_MS,
  MAX_WAITING_PACKETS,
  MIN_WAIT_MS,
  STALL_LAG_MS,
} from '../../src/audio/index.ts';

const TICKS = 960;
type Out =
  | { kind: 'packet'; n: number; skip: number }
  | { kind: 'gap'; ticks: number; next: number | null }
  | { kind: 'silence'; ticks: number };

class Rig {
  readonly out: Out[] = [];
  readonly buffer = new JitterBuffer({
    packet: (payload, _ticks, skip) =>
      this.out.push({ kind: 'packet', n: payload[0]! + payload[1]! * 256, skip }),
    gap: (ticks, next) =>
      this.out.push({ kind: 'gap', ticks, next: next ? next.payload[0]! + next.payload[1]! * 256 : null }),
    silence: (ticks) => this.out.push({ kind: 'silence', ticks }),
  });
  readonly sequence: number;
  readonly timestamp: number;

  constructor(sequence = 65_530, timestamp = 2 ** 32 - 5000) {
    this.sequence = sequence;
    this.timestamp = timestamp;
  }

  packet(n: number, more: Partial<JitterPacket> = {}): JitterPacket {
    return {
      sequence: (this.sequence + n) & 0xffff,
      timestamp: (this.timestamp + n * TICKS) % 2 ** 32,
      payload: Uint8Array.of(n & 0xff, n >> 8),
      ticks: TICKS,
      silent: false,
      ...more,
    };
  }

  push(n: number, now: number, more: Partial<JitterPacket> = {}): void {
    this.buffer.push(this.packet(n, more), now);
  }

  /** Samples of 48 kHz that came out. */
  get ticks(): number {
    return this.out.reduce((sum, each) => sum + (each.kind === 'packet' ? TICKS - each.skip : each.ticks), 0);
  }

  get played(): number[] {
    return this.out.flatMap((each) => (each.kind === 'packet' ? [each.n] : []));
  }
}

describe('the jitter buffer', () => {
  it('lets a packet whose turn it is out at once', () => {
    const rig = new Rig();
    for (let n = 0; n < 10; n += 1) {
      rig.push(n, n * 20);
      expect(rig.played.at(-1)).toBe(n);
    }
  });

  it('puts packets back in order, across the ends of the numbers', () => {
    const rig = new Rig();
    for (const n of [0, 2, 1, 3, 5, 4, 8, 6, 7, 9, 10]) rig.push(n, n * 20);
    expect(rig.played).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    expect(rig.ticks).toBe(11 * TICKS);
    expect(rig.buffer.counters).toMatchObject({ duplicates: 0, missing: 0, late: 0 });
  });

  it('drops what comes twice, whether it waits or is out', () => {
    const rig = new Rig();
    for (const n of [0, 0, 2, 2, 1, 1, 2, 3]) rig.push(n, 0);
    expect(rig.played).toEqual([0, 1, 2, 3]);
    expect(rig.buffer.counters.duplicates).toBe(4);
  });

  it('fills a gap after the shortest wait while nothing was late, and tells the packet behind it', () => {
    const rig = new Rig();
    rig.push(0, 0);
    rig.push(2, 40);
    rig.buffer.pull(40 + MIN_WAIT_MS - 1);
    expect(rig.played).toEqual([0]);
    rig.buffer.pull(40 + MIN_WAIT_MS);
    expect(rig.out.slice(1)).toEqual([
      { kind: 'gap', ticks: TICKS, next: 2 },
      { kind: 'packet', n: 2, skip: 0 },
    ]);
  });

  it('drops the packet that comes after its gap was filled, once and for all', () => {
    const rig = new Rig();
    rig.push(0, 0);
    rig.push(2, 40);
    rig.buffer.pull(60);
    rig.push(1, 70);
    rig.push(1, 71);
    rig.push(3, 72);
    expect(rig.played).toEqual([0, 2, 3]);
    expect(rig.ticks).toBe(4 * TICKS);
    expect(rig.buffer.counters).toMatchObject({ late: 1, duplicates: 1, missing: 1 });
  });

  it('waits as long for a gap as packets were late, up to 200 ms, and forgets that after ten seconds', () => {
    const rig = new Rig();
    let n = 0;
    for (; n < 50; n += 2) {
      rig.push(n + 1, n * 20);
      rig.push(n, n * 20 + 15);
    }
    // 0 and 1 came in the wrong order at the very start: nobody knew of 0 then.
    expect(rig.buffer.waitMs).toBe(25);
    for (; n < 100; n += 1) rig.push(n, n * 20);
    rig.push(101, 2020);
    rig.push(100, 2020 + 24);
    expect(rig.buffer.waitMs).toBe(34);
    expect(rig.buffer.counters.missing).toBe(0);
    for (n = 102; n < 700; n += 1) rig.push(n, n * 20);
    expect(rig.buffer.waitMs).toBe(MIN_WAIT_MS);
  });

  it('learns from packets that came too late, but never waits longer than 200 ms', () => {
    const rig = new Rig();
    let n = 1;
    rig.push(0, 0);
    for (let round = 0; round < 20; round += 1) {
      const now = n * 20;
      rig.push(n + 1, now);
      for (let t = 20; t <= 300; t += 20) rig.buffer.pull(now + t);
      rig.push(n, now + 300);
      n += 2;
    }
    expect(rig.buffer.waitMs).toBe(MAX_WAIT_MS);
  });

  it('holds no more packets than its bound behind one gap', () => {
    const rig = new Rig();
    rig.push(0, 0);
    for (let n = 2; n < 200; n += 1) {
      rig.push(n, 0);
      expect(rig.buffer.waitingPackets).toBeLessThanOrEqual(MAX_WAITING_PACKETS);
    }
    expect(rig.played.at(-1)).toBe(199);
  });

  it('goes on by the clock when nothing comes, 200 ms behind, and finds its place again', () => {
    const rig = new Rig();
    for (let n = 0; n < 10; n += 1) rig.push(n, n * 20);
    for (let t = 200; t <= 1180; t += 20) rig.buffer.pull(t);
    // Of the second that is missing all but the lag is filled.
    expect(rig.ticks).toBe((10 + (1000 - STALL_LAG_MS) / 20) * TICKS);
    for (let n = 60; n < 70; n += 1) rig.push(n, n * 20);
    expect(rig.ticks).toBe(70 * TICKS);
    expect(rig.played.slice(-10)).toEqual([60, 61, 62, 63, 64, 65, 66, 67, 68, 69]);
  });

  it('keeps everything of a burst after a stall of less than 200 ms', () => {
    const rig = new Rig();
    for (let n = 0; n < 10; n += 1) rig.push(n, n * 20);
    for (let t = 200; t <= 360; t += 20) rig.buffer.pull(t);
    for (let n = 10; n < 19; n += 1) rig.push(n, 370);
    expect(rig.played).toEqual(Array.from({ length: 19 }, (_, n) => n));
    expect(rig.buffer.counters.filledMs).toBe(0);
  });

  it('drops of a burst after a longer stall what has been filled, and keeps the rest', () => {
    const rig = new Rig();
    for (let n = 0; n < 10; n += 1) rig.push(n, n * 20);
    for (let t = 200; t <= 700; t += 20) rig.buffer.pull(t);
    for (let n = 10; n < 36; n += 1) rig.push(n, 710);
    expect(rig.ticks).toBe(36 * TICKS);
    expect(rig.buffer.counters.late).toBe((rig.buffer.counters.filledMs / 20) | 0);
    expect(rig.played.at(-1)).toBe(35);
  });

  it('follows a sender whose clock stood still', () => {
    const rig = new Rig();
    for (let n = 0; n < 10; n += 1) rig.push(n, n * 20);
    for (let t = 200; t <= 3200; t += 20) rig.buffer.pull(t);
    // Three seconds later it goes on where it was.
    for (let n = 10; n < 60; n += 1) {
      rig.push(n, 3200 + (n - 10) * 20);
      rig.buffer.pull(3200 + (n - 10) * 20);
    }
    const dropped = rig.buffer.counters.late;
    expect(dropped).toBe(LATE_RESYNC_MS / 20);
    expect(rig.played.slice(-40)).toEqual(Array.from({ length: 40 }, (_, n) => n + 20));
  });

  it('fills no more than its bound for one gap', () => {
    const rig = new Rig();
    rig.push(0, 0);
    for (let t = 0; t < 60_000; t += 20) rig.buffer.pull(t);
    expect(rig.ticks).toBe(TICKS + MAX_FILL_MS * 48);
  });

  it('makes silence of a pause that the sender announced, without waiting long', () => {
    const rig = new Rig();
    rig.push(0, 0);
    rig.push(1, 20, { silent: true });
    for (let t = 40; t <= 400; t += 20) rig.buffer.pull(t);
    // The next packet's number follows; its time is 400 ms later.
    rig.buffer.push({ ...rig.packet(21), sequence: rig.packet(2).sequence }, 420);
    expect(rig.out.some((each) => each.kind === 'gap')).toBe(false);
    expect(rig.ticks).toBe(22 * TICKS);
    expect(rig.buffer.counters).toMatchObject({ missing: 0, filledMs: 0, late: 0 });
  });

  it('counts a packet without audio as its number and no more', () => {
    const rig = new Rig();
    rig.push(0, 0);
    rig.buffer.push({ ...rig.packet(1), ticks: 0, timestamp: rig.packet(0).timestamp }, 20);
    rig.buffer.push({ ...rig.packet(1), sequence: rig.packet(2).sequence }, 20);
    expect(rig.ticks).toBe(2 * TICKS);
    expect(rig.buffer.counters.missing).toBe(0);
  });

  it('fills nothing when the timestamps start anew', () => {
    const rig = new Rig();
    for (let n = 0; n < 5; n += 1) rig.push(n, n * 20);
    rig.buffer.push({ ...rig.packet(5), timestamp: 1_000_000_000 }, 100);
    rig.buffer.push({ ...rig.packet(6), timestamp: 1_000_000_000 + TICKS }, 120);
    expect(rig.ticks).toBe(7 * TICKS);
  });

  it('believes a leap in the numbers only when the next packet confirms it', () => {
    const rig = new Rig(100);
    for (let n = 0; n < 5; n += 1) rig.push(n, n * 20);
    rig.push(20_000, 100);
    rig.push(5, 100);
    expect(rig.played).toEqual([0, 1, 2, 3, 4, 5]);
    rig.push(30_000, 120);
    rig.push(30_001, 140);
    expect(rig.played.at(-1)).toBe(30_001);
  });

  it('gives exactly as much as went by at the sender, in order, whatever the network did', () => {
    const event = fc.record({
      lost: fc.integer({ min: 0, max: 9 }),
      delay: fc.integer({ min: 0, max: 180 }),
      twice: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(event, { minLength: 5, maxLength: 200 }), (events) => {
        const rig = new Rig();
        const arrivals: { n: number; at: number }[] = [{ n: 0, at: 0 }];
        events.forEach(({ lost, delay, twice }, index) => {
          const n = index + 1;
          if (lost === 0) return;
          arrivals.push({ n, at: n * 20 + delay });
          if (twice) arrivals.push({ n, at: n * 20 + delay + 7 });
        });
        const last = events.length + 1;
        arrivals.push({ n: last, at: last * 20 + 180 });
        arrivals.sort((a, b) => a.at - b.at);
        let tick = 0;
        for (const { n, at } of arrivals) {
          for (; tick <= at; tick += 20) rig.buffer.pull(tick);
          rig.push(n, at);
        }
        for (let t = tick; t < tick + MAX_WAIT_MS + 20; t += 20) rig.buffer.pull(t);
        const { played } = rig;
        expect(played).toEqual([...new Set(played)].sort((a, b) => a - b));
        expect(rig.buffer.waitingPackets).toBe(0);
        // All that was sent, and of the silence after it no more than the clock may have added by now.
        const extra = rig.ticks / TICKS - (last + 1);
        expect(Number.isInteger(extra)).toBe(true);
        expect(extra).toBeGreaterThanOrEqual(0);
        expect(extra).toBeLessThanOrEqual(11);
        expect(rig.buffer.waitMs).toBeGreaterThanOrEqual(MIN_WAIT_MS);
        expect(rig.buffer.waitMs).toBeLessThanOrEqual(MAX_WAIT_MS);
      }),
      { numRuns: 300 },
    );
  });

  it('never throws and keeps its bounds on any packets at any time', () => {
    const packet = fc.record({
      sequence: fc.integer({ min: 0, max: 0xffff }),
      timestamp: fc.integer({ min: 0, max: 0xffffffff }),
      ticks: fc.constantFrom(0, 120, 480, 960, 2880, 5760),
      silent: fc.boolean(),
      after: fc.integer({ min: 0, max: 500 }),
    });
    fc.assert(
      fc.property(fc.array(packet, { maxLength: 100 }), (packets) => {
        const rig = new Rig();
        let now = 0;
        for (const each of packets) {
          now += each.after;
          rig.buffer.push({ ...each, payload: Uint8Array.of(0, 0) }, now);
          rig.buffer.pull(now);
          expect(rig.buffer.waitingPackets).toBeLessThanOrEqual(MAX_WAITING_PACKETS);
        }
      }),
    );
  });
});
