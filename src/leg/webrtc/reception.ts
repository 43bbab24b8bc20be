/**
 * How a source arrives: lost, late, how evenly. The arithmetic is RFC 3550's, appendix A.3 and A.8.
 *
 * Pure: times are arguments.
 *
 * @module
 */

import type { ReportBlock } from './rtcp.ts';

const RTP_TICKS_PER_MS = 48;

export class Reception {
  readonly ssrc: number;
  #base: number;
  #highest: number;
  #received = 0;
  #expectedBefore = 0;
  #receivedBefore = 0;
  #jitter = 0;
  #transit: number | null = null;
  #reportMiddle = 0;
  #reportAt = 0;

  /** @param first - the first packet's sequence number */
  constructor(ssrc: number, first: number) {
    this.ssrc = ssrc;
    this.#base = first;
    this.#highest = first;
  }

  /**
   * A packet came, duplicates included.
   *
   * @param sequence - counted on past its 16 bits
   */
  received(sequence: number, timestamp: number, now: number): void {
    this.#received += 1;
    if (sequence > this.#highest) this.#highest = sequence;
    if (sequence < this.#base) this.#base = sequence;
    const transit = now * RTP_TICKS_PER_MS - timestamp;
    if (this.#transit !== null) {
      const deviation = Math.abs(transit - this.#transit);
      // A timestamp that started anew is not jitter.
      if (deviation < 48_000 * 5) this.#jitter += (deviation - this.#jitter) / 16;
    }
    this.#transit = transit;
  }

  /** The peer's sender report. */
  reported(middle: number, now: number): void {
    this.#reportMiddle = middle;
    this.#reportAt = now;
  }

  get jitterMs(): number {
    return this.#jitter / RTP_TICKS_PER_MS;
  }

  /** What is to be said about it, and what `fractionLost` of the next one counts from. */
  report(now: number): ReportBlock {
    const expected = this.#highest - this.#base + 1;
    const expectedNow = expected - this.#expectedBefore;
    const receivedNow = this.#received - this.#receivedBefore;
    this.#expectedBefore = expected;
    this.#receivedBefore = this.#received;
    const lostNow = expectedNow - receivedNow;
    return {
      ssrc: this.ssrc,
      fractionLost: expectedNow > 0 && lostNow > 0 ? lostNow / expectedNow : 0,
      lost: expected - this.#received,
      highest: this.#highest,
      jitter: Math.round(this.#jitter),
      lastReport: this.#reportMiddle,
      sinceLastReport:
        this.#reportMiddle === 0 ? 0 : Math.max(0, Math.round((now - this.#reportAt) * 65.536)),
    };
  }
}
