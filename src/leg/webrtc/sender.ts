/**
 * The agent's audio: PCM16 at 24 kHz in, RTP out. Each 20 ms has its place on one continuous clock; silence is sent like
 * Opus's own DTX does it (a packet of one byte every 400 ms), but never before the encoder has faded out.
 *
 * @module
 */

import { FRAME_MS, OpusEncoder, pcm16ToSamples } from '../../audio/index.ts';
import type { SenderInfo } from './rtcp.ts';
import { writeRtp } from './rtp.ts';

const FRAME_TICKS = FRAME_MS * 48;
const FRAME_SAMPLES = FRAME_MS * 24;
/** Silence that is encoded after speech: the encoder still holds its last ms, and a decoder's filters fade. */
export const TAIL_FRAMES = 5;
/** A packet that says "still silent" goes out this often. */
export const SILENCE_EVERY_MS = 400;
/** TOC byte of an empty frame: SILK, wideband, 20 ms, mono. */
const SILENT_PACKET = Uint8Array.of(9 << 3);
/** With loss the bit rate goes up to so much more, for the copies in the packets. */
const FEC_BITRATE_SHARE = 1 / 3;
/** Loss at which it is all used. */
const FULL_FEC_LOSS = 0.1;
/** Most loss that FEC is told to prepare for, in percent; beyond it copies only eat the voice. */
const MAX_EXPECTED_LOSS = 30;
const SILENCE = new Int16Array(FRAME_SAMPLES);

let liveEncoders = 0;
/** Encoders of this process that are not freed; for leak tests and metrics. */
export const encoderCount = (): number => liveEncoders;

export interface AudioSenderOptions {
  readonly ssrc: number;
  readonly payloadType: number;
  readonly bitrate: number;
  readonly complexity: number;
  /** Random starts of the sequence (16 bits) and of the timestamps (32 bits). */
  readonly firstSequence: number;
  readonly firstTimestamp: number;
  /** Takes a packet; the bytes are its own. */
  readonly send: (packet: Buffer) => void;
}

export class AudioSender {
  readonly #options: AudioSenderOptions;
  readonly #encoder: OpusEncoder;
  #startAt: number | null = null;
  /** Number of the last 20 ms that was sent, from the start. */
  #slot = -1;
  #silentFrames = TAIL_FRAMES;
  #silenceSentAt = Number.NEGATIVE_INFINITY;
  #packets = 0;
  #bytes = 0;
  /** Smoothed; follows a rise at once. */
  #loss = 0;
  #isFree = false;

  constructor(options: AudioSenderOptions) {
    this.#options = options;
    this.#encoder = new OpusEncoder({
      sampleRate: 24_000,
      bitrate: options.bitrate,
      complexity: options.complexity,
      fec: true,
      expectedLossPercent: 0,
      dtx: false,
    });
    liveEncoders += 1;
  }

  /** What the encoder prepares for: 0 to 1. */
  get expectedLoss(): number {
    return this.#loss;
  }

  /** 20 ms of speech, or `null` for silence. @param at - when it is due, in monotonic ms */
  frame(pcm: Uint8Array | null, at: number): void {
    if (this.#isFree) return;
    this.#startAt ??= at;
    // Never two packets on one place, and never back in time.
    const slot = Math.max(this.#slot + 1, Math.round((at - this.#startAt) / FRAME_MS));
    if (pcm) {
      const afterSilence = this.#silentFrames >= TAIL_FRAMES;
      this.#silentFrames = 0;
      this.#send(this.#encoder.encode(pcm16ToSamples(pcm)), slot, afterSilence);
    } else if (this.#silentFrames < TAIL_FRAMES) {
      this.#silentFrames += 1;
      this.#silenceSentAt = at;
      this.#send(this.#encoder.encode(SILENCE), slot, false);
    } else if (at - this.#silenceSentAt >= SILENCE_EVERY_MS) {
      this.#silenceSentAt = at;
      this.#send(SILENT_PACKET, slot, false);
    }
  }

  /** The peer's report: what was lost since the last one, 0 to 1. */
  reported(fractionLost: number): void {
    if (this.#isFree) return;
    this.#loss = Math.max(fractionLost, this.#loss * 0.8 < 0.005 ? 0 : this.#loss * 0.8);
    const extra = FEC_BITRATE_SHARE * Math.min(1, this.#loss / FULL_FEC_LOSS);
    this.#encoder.setExpectedLoss(Math.min(MAX_EXPECTED_LOSS, Math.ceil(this.#loss * 100)));
    this.#encoder.setBitrate(Math.round(this.#options.bitrate * (1 + extra)));
  }

  /** For a sender report; `null` before the first packet. */
  info(now: number): SenderInfo | null {
    if (this.#startAt === null || this.#packets === 0) return null;
    return { rtpTimestamp: this.#ticksAt(now), packets: this.#packets, bytes: this.#bytes };
  }

  /** Frees the encoder. Idempotent. */
  close(): void {
    if (this.#isFree) return;
    this.#isFree = true;
    liveEncoders -= 1;
    this.#encoder.free();
  }

  #ticksAt(now: number): number {
    const ticks = Math.round((now - (this.#startAt ?? now)) * 48);
    return (this.#options.firstTimestamp + ticks) >>> 0;
  }

  #send(payload: Uint8Array, slot: number, marker: boolean): void {
    const { ssrc, payloadType, firstSequence, firstTimestamp, send } = this.#options;
    this.#slot = slot;
    const sequence = (firstSequence + this.#packets) & 0xffff;
    const timestamp = (firstTimestamp + slot * FRAME_TICKS) >>> 0;
    this.#packets += 1;
    this.#bytes += payload.byteLength;
    send(writeRtp({ payloadType, marker, sequence, timestamp, ssrc, payload }));
  }
}
