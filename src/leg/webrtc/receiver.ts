/**
 * The caller's audio: RTP in, PCM16 at 24 kHz out. One source at a time, and one decoder for each; a second source is
 * believed when two packets of it came in order and the first one has fallen silent.
 *
 * @module
 */

import {
  isOpusDtx,
  JitterBuffer,
  type JitterCounters,
  type JitterPacket,
  OpusDecoder,
  opusCarriesFec,
  opusPacketTicks,
  type SampleRate,
  samplesToPcm16,
} from '../../audio/index.ts';
import { Reception } from './reception.ts';
import type { ReportBlock } from './rtcp.ts';
import { parseRtp, type RtpPacket } from './rtp.ts';

/** A source that sent nothing for so long may be followed by another one. */
export const SOURCE_SWITCH_MS = 60;
/** Concealment says no more after so long: what follows is silence. */
export const MAX_CONCEAL_MS = 120;
/** Ticks that are further apart than this were held up by this process. */
export const MAX_TICK_MS = 60;
/** Ticks of the decoder's shortest step, 2.5 ms. */
const STEP_TICKS = 120;

export interface ReceiverCounters extends JitterCounters {
  /** Gaps that were filled from the copy in the next packet, in ms. */
  recoveredMs: number;
  /** Gaps, or their beginnings, that the decoder made up, in ms. */
  concealedMs: number;
  /** No RTP, of another payload type, or no Opus. */
  invalid: number;
  /** Audio that came out, in ms. */
  outMs: number;
}

export interface ReceiverOptions {
  readonly payloadType: number;
  readonly sampleRate: SampleRate;
  /** PCM16, little-endian; the bytes are the listener's. */
  readonly onAudio: (pcm: Uint8Array) => void;
}

/** Decoders of this process that are not freed; for leak tests and metrics. */
let liveDecoders = 0;
export const decoderCount = (): number => liveDecoders;

export class AudioReceiver {
  readonly #options: ReceiverOptions;
  #source: Source | null = null;
  /** Another source's next sequence number, should it be one. */
  #candidate: { ssrc: number; next: number } | null = null;
  #lastPacketAt = Number.NEGATIVE_INFINITY;
  #tickedAt = 0;
  #heldUpUntil = 0;
  #invalid = 0;
  /** Of sources that are gone. */
  readonly #before: ReceiverCounters = zero();

  constructor(options: ReceiverOptions) {
    this.#options = options;
  }

  /** When the last packet of audio came; `-Infinity` before the first. */
  get lastPacketAt(): number {
    return this.#lastPacketAt;
  }

  get ssrc(): number | null {
    return this.#source?.reception.ssrc ?? null;
  }

  /** How long a gap waits now, in ms. */
  get waitMs(): number {
    return this.#source?.jitter.waitMs ?? 0;
  }

  get jitterMs(): number {
    return this.#source?.reception.jitterMs ?? 0;
  }

  counters(): ReceiverCounters {
    const sum = this.#source ? add(this.#before, this.#source.counters()) : { ...this.#before };
    sum.invalid += this.#invalid;
    return sum;
  }

  /** One packet of RTP. */
  receive(bytes: Uint8Array, now: number): void {
    const packet = parseRtp(bytes);
    if (!packet) {
      this.#invalid += 1;
      return;
    }
    if (this.#source?.reception.ssrc !== packet.ssrc && !this.#believe(packet, now)) return;
    this.#lastPacketAt = now;
    this.#source?.receive(packet, now);
  }

  /** The peer's sender report. */
  reported(ssrc: number, middle: number, now: number): void {
    if (this.#source?.reception.ssrc === ssrc) this.#source.reception.reported(middle, now);
  }

  /** For our receiver report; `null` while nothing came. */
  report(now: number): ReportBlock | null {
    return this.#source?.reception.report(now) ?? null;
  }

  /** Every 20 ms. */
  tick(now: number): void {
    // When this process stood still, packets that came meanwhile are handed over after its timers: nothing is missing.
    if (now - this.#tickedAt > MAX_TICK_MS) this.#heldUpUntil = now + MAX_TICK_MS;
    this.#tickedAt = now;
    if (now >= this.#heldUpUntil) this.#source?.jitter.pull(now);
  }

  /** Frees the decoder. Idempotent. */
  close(): void {
    const source = this.#source;
    this.#source = null;
    if (!source) return;
    Object.assign(this.#before, add(this.#before, source.counters()));
    source.free();
  }

  #believe(packet: RtpPacket, now: number): boolean {
    if (this.#source) {
      const isNext = this.#candidate?.ssrc === packet.ssrc && this.#candidate.next === packet.sequence;
      this.#candidate = { ssrc: packet.ssrc, next: (packet.sequence + 1) & 0xffff };
      if (!isNext || now - this.#lastPacketAt < SOURCE_SWITCH_MS) return false;
    }
    if (packet.payloadType !== this.#options.payloadType) return false;
    this.close();
    this.#candidate = null;
    this.#source = new Source(packet, this.#options);
    return true;
  }
}

class Source {
  reception: Reception;
  readonly jitter: JitterBuffer;
  readonly #decoder: OpusDecoder;
  readonly #options: ReceiverOptions;
  /** Samples for each tick: 0.5 at 24 kHz. */
  readonly #samplesPerTick: number;
  #ticksOut = 0;
  /** How much was concealed since the last packet. */
  #concealing = 0;
  #isFree = false;
  readonly #own = { recoveredMs: 0, concealedMs: 0, invalid: 0 };

  constructor(first: RtpPacket, options: ReceiverOptions) {
    this.#options = options;
    this.#samplesPerTick = options.sampleRate / 48_000;
    this.reception = new Reception(first.ssrc, first.sequence);
    this.#decoder = new OpusDecoder(options.sampleRate);
    liveDecoders += 1;
    this.jitter = new JitterBuffer({
      packet: (payload, ticks, skipTicks) => this.#packet(payload, ticks, skipTicks),
      gap: (ticks, next) => this.#gap(ticks, next),
      silence: (ticks) => this.#silence(ticks),
    });
  }

  counters(): ReceiverCounters {
    return { ...this.jitter.counters, ...this.#own, outMs: this.#ticksOut / 48 };
  }

  receive({ ssrc, payloadType, sequence, timestamp, payload }: RtpPacket, now: number): void {
    // Keys, comfort noise, an empty packet: no audio for us, but its number is in the sequence.
    const isAudio = payloadType === this.#options.payloadType && payload.byteLength > 0;
    const ticks = isAudio ? opusPacketTicks(payload) : 0;
    if (isAudio && ticks === 0) this.#own.invalid += 1;
    const highest = this.jitter.highestSequence;
    const silent = isAudio && isOpusDtx(payload);
    const counted = this.jitter.push({ sequence, timestamp, payload, ticks, silent }, now);
    if (counted === null) return;
    // The sender has started anew; what is between was not lost.
    if (highest !== null && counted - highest >= 3000) this.reception = new Reception(ssrc, counted);
    this.reception.received(counted, timestamp, now);
  }

  free(): void {
    if (this.#isFree) return;
    this.#isFree = true;
    liveDecoders -= 1;
    this.#decoder.free();
  }

  #packet(payload: Uint8Array, ticks: number, skipTicks: number): void {
    if (this.#isFree) return;
    let samples: Int16Array;
    try {
      samples = this.#decoder.decode(payload);
    } catch {
      this.#own.invalid += 1;
      this.#gap(ticks - skipTicks, null);
      return;
    }
    this.#concealing = 0;
    const count = this.#take(ticks - skipTicks);
    this.#emit(samples.subarray(Math.max(0, samples.length - count)));
  }

  #gap(ticks: number, next: JitterPacket | null): void {
    if (this.#isFree) return;
    // The copy in the next packet is of the one frame before it.
    const copied =
      next && next.ticks > 0 && next.ticks <= ticks && next.ticks <= 2880 && opusCarriesFec(next.payload)
        ? next.ticks
        : 0;
    const made = ticks - copied;
    const conceal = Math.min(made, Math.max(0, MAX_CONCEAL_MS * 48 - this.#concealing));
    // The decoder takes steps of 2.5 ms.
    const concealed = conceal - (conceal % STEP_TICKS);
    if (concealed > 0) {
      this.#concealing += concealed;
      this.#own.concealedMs += concealed / 48;
      this.#take(concealed);
      this.#emit(this.#decoder.conceal(concealed / 48));
    }
    this.#silence(made - concealed);
    if (copied > 0 && next) {
      this.#own.recoveredMs += copied / 48;
      this.#take(copied);
      this.#emit(this.#decoder.recover(next.payload, copied / 48));
    }
  }

  #silence(ticks: number): void {
    const count = this.#take(ticks);
    if (count > 0 && !this.#isFree) this.#emit(new Int16Array(count));
  }

  /** How many samples `ticks` more make, so that rounding never adds up. */
  #take(ticks: number): number {
    const before = Math.floor(this.#ticksOut * this.#samplesPerTick);
    this.#ticksOut += ticks;
    return Math.floor(this.#ticksOut * this.#samplesPerTick) - before;
  }

  #emit(samples: Int16Array): void {
    if (samples.length > 0) this.#options.onAudio(samplesToPcm16(samples));
  }
}

function zero(): ReceiverCounters {
  return {
    received: 0,
    duplicates: 0,
    late: 0,
    missing: 0,
    filledMs: 0,
    recoveredMs: 0,
    concealedMs: 0,
    invalid: 0,
    outMs: 0,
  };
}

function add(a: ReceiverCounters, b: ReceiverCounters): ReceiverCounters {
  return {
    received: a.received + b.received,
    duplicates: a.duplicates + b.duplicates,
    late: a.late + b.late,
    missing: a.missing + b.missing,
    filledMs: a.filledMs + b.filledMs,
    recoveredMs: a.recoveredMs + b.recoveredMs,
    concealedMs: a.concealedMs + b.concealedMs,
    invalid: a.invalid + b.invalid,
    outMs: a.outMs + b.outMs,
  };
}
