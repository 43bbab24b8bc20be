/**
 * From one format to another, chunk by chunk.
 *
 * @module
 */

import { type AudioData, type AudioFormat, audioBytes, bytesPerSample, sameFormat } from './format.ts';
import { createResampler, type Resampler } from './resampler.ts';
import { fromSamples, toSamples } from './samples.ts';

/** Converts one stream. Keeps state: use one for each direction of each call. */
export interface Transcoder {
  readonly from: AudioFormat;
  readonly to: AudioFormat;
  /** The next chunk. Between equal formats it is the very same value, base64 or bytes; else bytes. */
  process(audio: AudioData): AudioData;
  /** What the resampling filter still holds; empty between equal rates. The stream is over. */
  flush(): Uint8Array;
  /** Frees its memory. Idempotent. */
  close(): void;
}

const NOTHING = new Uint8Array(0);

class Untouched implements Transcoder {
  readonly from: AudioFormat;
  readonly to: AudioFormat;

  constructor(from: AudioFormat, to: AudioFormat) {
    this.from = from;
    this.to = to;
  }

  process(audio: AudioData): AudioData {
    return audio;
  }

  flush(): Uint8Array {
    return NOTHING;
  }

  close(): void {}
}

class Converting implements Transcoder {
  readonly from: AudioFormat;
  readonly to: AudioFormat;
  readonly #resampler: Resampler;
  /** The first byte of a 16-bit sample whose second byte comes with the next chunk. */
  #half: Uint8Array = NOTHING;

  constructor(from: AudioFormat, to: AudioFormat) {
    this.from = from;
    this.to = to;
    this.#resampler = createResampler(from.sampleRate, to.sampleRate);
  }

  process(audio: AudioData): Uint8Array {
    const samples = toSamples(this.#whole(audioBytes(audio)), this.from);
    return fromSamples(this.#resampler.process(samples), this.to);
  }

  flush(): Uint8Array {
    this.#half = NOTHING;
    return fromSamples(this.#resampler.flush(), this.to);
  }

  close(): void {
    this.#resampler.free();
  }

  #whole(bytes: Uint8Array): Uint8Array {
    if (bytesPerSample(this.from) === 1) return bytes;
    if (this.#half.byteLength === 0 && bytes.byteLength % 2 === 0) return bytes;
    const joined = Buffer.concat([this.#half, bytes]);
    const whole = joined.byteLength - (joined.byteLength % 2);
    this.#half = joined.subarray(whole);
    return joined.subarray(0, whole);
  }
}

/** Needs `loadAudio()` first when the rates differ. */
export function createTranscoder(from: AudioFormat, to: AudioFormat): Transcoder {
  return sameFormat(from, to) ? new Untouched(from, to) : new Converting(from, to);
}
