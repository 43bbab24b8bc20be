/**
 * Streaming resampling between 8, 16, 24 and 48 kHz. State is kept across chunks, so that chunk borders are
 * inaudible: the outputs of any chunking add up to the output of one call.
 *
 * @module
 */

import createSpeex, { type SpeexModule } from '@echogarden/speex-resampler-wasm/simd';
import type { SampleRate } from './format.ts';

/** Speex quality 5: aliasing below -100 dB, 5 ms of delay from 48 to 8 kHz. */
const QUALITY = 5;

/** Longest run of samples given to the wasm at once; longer inputs are cut up. */
const BLOCK = 4800;

/** Most output samples for one block: 8 → 48 kHz, and a few of rounding. */
const OUT_BLOCK = BLOCK * 6 + 64;

interface Speex {
  readonly wasm: SpeexModule;
  readonly input: number;
  readonly output: number;
  readonly lengths: number;
}

let speex: Speex | undefined;
let loading: Promise<void> | undefined;

/** Loads the resampler, once per thread. Everything in this room is synchronous afterwards. */
export function loadAudio(): Promise<void> {
  loading ??= createSpeex().then((wasm) => {
    speex = {
      wasm,
      input: wasm._malloc(BLOCK * 2),
      output: wasm._malloc(OUT_BLOCK * 2),
      lengths: wasm._malloc(8),
    };
  });
  return loading;
}

export interface Resampler {
  readonly from: SampleRate;
  readonly to: SampleRate;
  /** The next samples. The result's length follows the rates' ratio exactly, over the whole stream. */
  process(samples: Int16Array): Int16Array;
  /** The tail that the filter still holds. The stream is over. */
  flush(): Int16Array;
  /** Frees its memory in the wasm. Idempotent. */
  free(): void;
}

class SpeexResampler implements Resampler {
  readonly from: SampleRate;
  readonly to: SampleRate;
  readonly #speex: Speex;
  #state: number;

  constructor(from: SampleRate, to: SampleRate, aligned: boolean) {
    if (!speex) throw new Error('Call `await loadAudio()` before a resampler is made.');
    this.from = from;
    this.to = to;
    this.#speex = speex;
    this.#state = speex.wasm._speex_resampler_init(1, from, to, QUALITY, 0);
    if (this.#state === 0) throw new Error('The resampler is out of memory.');
    if (aligned) speex.wasm._speex_resampler_skip_zeros(this.#state);
  }

  process(samples: Int16Array): Int16Array {
    if (samples.length <= BLOCK) return this.#block(samples);
    const parts: Int16Array[] = [];
    for (let at = 0; at < samples.length; at += BLOCK)
      parts.push(this.#block(samples.subarray(at, at + BLOCK)));
    return concatSamples(parts);
  }

  flush(): Int16Array {
    const latency = this.#speex.wasm._speex_resampler_get_input_latency(this.#live());
    return this.process(new Int16Array(latency));
  }

  free(): void {
    if (this.#state !== 0) this.#speex.wasm._speex_resampler_destroy(this.#state);
    this.#state = 0;
  }

  #live(): number {
    if (this.#state === 0) throw new Error('The resampler was freed.');
    return this.#state;
  }

  #block(samples: Int16Array): Int16Array {
    const { wasm, input, output, lengths } = this.#speex;
    wasm.HEAP16.set(samples, input >> 1);
    wasm.HEAPU32[lengths >> 2] = samples.length;
    wasm.HEAPU32[(lengths >> 2) + 1] = OUT_BLOCK;
    wasm._speex_resampler_process_int(this.#live(), 0, input, lengths, output, lengths + 4);
    const written = wasm.HEAPU32[(lengths >> 2) + 1] ?? 0;
    return wasm.HEAP16.slice(output >> 1, (output >> 1) + written);
  }
}

/** Equal rates: hands its input on. */
class PassThrough implements Resampler {
  readonly from: SampleRate;
  readonly to: SampleRate;

  constructor(rate: SampleRate) {
    this.from = rate;
    this.to = rate;
  }

  process(samples: Int16Array): Int16Array {
    return samples;
  }

  flush(): Int16Array {
    return new Int16Array(0);
  }

  free(): void {}
}

/**
 * A resampler for one stream.
 *
 * @param options.aligned - drop the filter's delay at the start, so that output and input line up (for files);
 *   by default a live stream's output starts with that delay as silence and every chunk gives its full length
 */
export function createResampler(
  from: SampleRate,
  to: SampleRate,
  options?: { aligned?: boolean },
): Resampler {
  return from === to ? new PassThrough(from) : new SpeexResampler(from, to, options?.aligned ?? false);
}

/** A whole recording at once: `round(length × to ÷ from)` samples, aligned with the input. */
export function resample(samples: Int16Array, from: SampleRate, to: SampleRate): Int16Array {
  if (from === to) return samples;
  const resampler = createResampler(from, to, { aligned: true });
  try {
    const wanted = Math.round((samples.length * to) / from);
    return concatSamples([resampler.process(samples), resampler.flush()]).slice(0, wanted);
  } finally {
    resampler.free();
  }
}

/** All parts, one behind the other. */
export function concatSamples(parts: readonly Int16Array[]): Int16Array {
  const [only] = parts;
  if (only && parts.length === 1) return only;
  const all = new Int16Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
