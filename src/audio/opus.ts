/**
 * Opus for live audio: a thin wrapper on the WebAssembly build inside `@evan/opus`, because only there loss
 * concealment and in-band FEC can be asked for, and thousands of instances fit one process. All instances of
 * a thread share one WebAssembly memory, which grows and never shrinks; `free()` gives their part back.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { SampleRate } from './format.ts';

/** Longest frame that Opus knows, in samples of one channel at 48 kHz (120 ms). */
const MAX_FRAME = 5760;

/** Largest packet that an encoder here writes, as libopus recommends. */
export const MAX_OPUS_PACKET_BYTES = 4000;

const APPLICATION_VOIP = 2048;

/** libopus `opus_defines.h` request numbers. */
const CTL = {
  bitrate: 4002,
  complexity: 4010,
  fec: 4012,
  expectedLossPercent: 4014,
  dtx: 4016,
} as const;

interface OpusExports {
  readonly memory: WebAssembly.Memory;
  _initialize(): void;
  malloc(bytes: number): number;
  free(pointer: number): void;
  opus_strerror(code: number): number;
  opus_encoder_get_size(channels: number): number;
  opus_encoder_init(state: number, rate: number, channels: number, application: number): number;
  opus_encode(state: number, pcm: number, frame: number, packet: number, maxBytes: number): number;
  opus_encoder_ctl_set(state: number, request: number, value: number): number;
  opus_decoder_get_size(channels: number): number;
  opus_decoder_init(state: number, rate: number, channels: number): number;
  opus_decode(state: number, packet: number, bytes: number, pcm: number, frame: number, fec: number): number;
}

function isOpus(exports: object): exports is OpusExports {
  return 'memory' in exports && exports.memory instanceof WebAssembly.Memory && 'opus_encode' in exports;
}

class OpusLibrary {
  readonly wasm: OpusExports;
  readonly pcm: number;
  readonly packet: number;
  #bytes = new Uint8Array(0);
  #samples = new Int16Array(0);

  constructor() {
    const path = createRequire(import.meta.url).resolve('@evan/opus/wasm/simd.wasm');
    const none = () => 0;
    const instance = new WebAssembly.Instance(new WebAssembly.Module(readFileSync(path)), {
      wasi_snapshot_preview1: { fd_seek: none, fd_write: none, fd_close: none, proc_exit: none },
      env: { emscripten_notify_memory_growth: none },
    });
    if (!isOpus(instance.exports)) throw new Error('The Opus library lacks its functions.');
    this.wasm = instance.exports;
    this.wasm._initialize();
    this.pcm = this.wasm.malloc(MAX_FRAME * 2 * 2);
    this.packet = this.wasm.malloc(MAX_OPUS_PACKET_BYTES);
  }

  get bytes(): Uint8Array {
    // Growth detaches the old buffer, so views are made again when it changed.
    if (this.#bytes.buffer !== this.wasm.memory.buffer) this.#bytes = new Uint8Array(this.wasm.memory.buffer);
    return this.#bytes;
  }

  get samples(): Int16Array {
    if (this.#samples.buffer !== this.wasm.memory.buffer) {
      this.#samples = new Int16Array(this.wasm.memory.buffer);
    }
    return this.#samples;
  }

  allocate(bytes: number): number {
    const pointer = this.wasm.malloc(bytes);
    if (pointer === 0) throw new Error('Opus is out of memory.');
    return pointer;
  }

  /** Hands a result on, or throws when it is one of libopus's negative codes. */
  check(result: number): number {
    if (result >= 0) return result;
    const start = this.wasm.opus_strerror(result);
    const end = this.bytes.indexOf(0, start);
    throw new Error(`Opus: ${Buffer.from(this.bytes.subarray(start, end)).toString('latin1')}`);
  }
}

let library: OpusLibrary | undefined;

function opus(): OpusLibrary {
  library ??= new OpusLibrary();
  return library;
}

export type OpusChannels = 1 | 2;

export interface OpusEncoderOptions {
  readonly sampleRate: SampleRate;
  /** @defaultValue 1 */
  readonly channels?: OpusChannels;
  /** Bits per second. @defaultValue 24000 */
  readonly bitrate?: number;
  /** 0 to 10. @defaultValue 5 */
  readonly complexity?: number;
  /** Puts a coarse copy of the previous frame into each packet. @defaultValue false */
  readonly fec?: boolean;
  /** How much loss FEC prepares for, 0 to 100. @defaultValue 10 with FEC, else 0 */
  readonly expectedLossPercent?: number;
  /** Sends next to nothing for digital silence. @defaultValue false */
  readonly dtx?: boolean;
}

export class OpusEncoder {
  readonly channels: OpusChannels;
  readonly #opus = opus();
  #state: number;

  constructor(options: OpusEncoderOptions) {
    const { wasm } = this.#opus;
    this.channels = options.channels ?? 1;
    this.#state = this.#opus.allocate(wasm.opus_encoder_get_size(this.channels));
    try {
      const rate = options.sampleRate;
      this.#opus.check(wasm.opus_encoder_init(this.#state, rate, this.channels, APPLICATION_VOIP));
      const fec = options.fec ?? false;
      this.#set('bitrate', options.bitrate ?? 24_000);
      this.#set('complexity', options.complexity ?? 5);
      this.#set('fec', fec ? 1 : 0);
      this.#set('expectedLossPercent', options.expectedLossPercent ?? (fec ? 10 : 0));
      this.#set('dtx', options.dtx ? 1 : 0);
    } catch (error) {
      this.free();
      throw error;
    }
  }

  /**
   * One frame → one packet.
   *
   * @param samples - 2.5, 5, 10, 20, 40 or 60 ms, interleaved when stereo
   * @throws Error of libopus, e.g. for a frame of another length
   */
  encode(samples: Int16Array): Uint8Array {
    const { wasm, pcm, packet } = this.#opus;
    if (samples.length > MAX_FRAME * this.channels) throw new Error('Opus: frame too long');
    this.#opus.samples.set(samples, pcm >> 1);
    const frame = samples.length / this.channels;
    const length = wasm.opus_encode(this.#live(), pcm, frame, packet, MAX_OPUS_PACKET_BYTES);
    this.#opus.check(length);
    return this.#opus.bytes.slice(packet, packet + length);
  }

  setBitrate(bitsPerSecond: number): void {
    this.#set('bitrate', bitsPerSecond);
  }

  setExpectedLoss(percent: number): void {
    this.#set('expectedLossPercent', percent);
  }

  /** Idempotent; the encoder can't be used afterwards. */
  free(): void {
    if (this.#state !== 0) this.#opus.wasm.free(this.#state);
    this.#state = 0;
  }

  #live(): number {
    if (this.#state === 0) throw new Error('The Opus encoder was freed.');
    return this.#state;
  }

  #set(setting: keyof typeof CTL, value: number): void {
    this.#opus.check(this.#opus.wasm.opus_encoder_ctl_set(this.#live(), CTL[setting], value));
  }
}

export class OpusDecoder {
  readonly sampleRate: SampleRate;
  readonly channels: OpusChannels;
  readonly #opus = opus();
  #state: number;

  /** Decodes to any rate, whatever rate the other side encoded from. */
  constructor(sampleRate: SampleRate, channels: OpusChannels = 1) {
    const { wasm } = this.#opus;
    this.sampleRate = sampleRate;
    this.channels = channels;
    this.#state = this.#opus.allocate(wasm.opus_decoder_get_size(channels));
    try {
      this.#opus.check(wasm.opus_decoder_init(this.#state, sampleRate, channels));
    } catch (error) {
      this.free();
      throw error;
    }
  }

  /** One packet → its samples. @throws Error of libopus for a corrupt packet */
  decode(packet: Uint8Array): Int16Array {
    return this.#decode(packet, (MAX_FRAME * this.sampleRate) / 48_000, 0);
  }

  /** Makes up `durationMs` (a multiple of 2.5) for a packet that is lost (packet loss concealment). */
  conceal(durationMs: number): Int16Array {
    return this.#decode(null, (durationMs * this.sampleRate) / 1000, 0);
  }

  /**
   * The lost frame of `durationMs` before `next`, from the copy that `next` carries; concealed when it
   * carries none. Decode `next` itself afterwards as usual.
   */
  recover(next: Uint8Array, durationMs: number): Int16Array {
    return this.#decode(next, (durationMs * this.sampleRate) / 1000, 1);
  }

  /** Idempotent; the decoder can't be used afterwards. */
  free(): void {
    if (this.#state !== 0) this.#opus.wasm.free(this.#state);
    this.#state = 0;
  }

  #decode(packet: Uint8Array | null, frame: number, fec: 0 | 1): Int16Array {
    if (this.#state === 0) throw new Error('The Opus decoder was freed.');
    const { wasm, pcm, packet: buffer } = this.#opus;
    if (packet && packet.byteLength > MAX_OPUS_PACKET_BYTES) throw new Error('Opus: corrupted stream');
    if (packet) this.#opus.bytes.set(packet, buffer);
    const length = packet?.byteLength ?? 0;
    const count = wasm.opus_decode(this.#state, packet ? buffer : 0, length, pcm, frame, fec);
    this.#opus.check(count);
    return this.#opus.samples.slice(pcm >> 1, (pcm >> 1) + count * this.channels);
  }
}
