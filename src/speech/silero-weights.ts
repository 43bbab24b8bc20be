/**
 * The weights of Silero VAD v6 (16 kHz branch), kept as 16-bit floats in `assets/vad/silero_v6.f16` in the
 * order of `LAYOUT`. Silero VAD is MIT licensed, copyright Silero Team; see `THIRD-PARTY-NOTICES.md`.
 *
 * @module
 */

import { readFileSync } from 'node:fs';

const FILE = new URL('../../assets/vad/silero_v6.f16', import.meta.url);

/** Name and number of values, in file order. */
const LAYOUT = {
  window: 256,
  conv0: 128 * 129 * 3,
  bias0: 128,
  conv1: 64 * 128 * 3,
  bias1: 64,
  conv2: 64 * 64 * 3,
  bias2: 64,
  conv3: 128 * 64 * 3,
  bias3: 128,
  lstmInput: 512 * 128,
  lstmHidden: 512 * 128,
  lstmInputBias: 512,
  lstmHiddenBias: 512,
  output: 128,
  outputBias: 1,
} as const;

export type SileroWeights = Readonly<Record<keyof typeof LAYOUT, Float32Array>>;

/** IEEE 754 binary16 → number; `Float16Array` is newer than the oldest Node we run on. */
function fromHalf(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function load(): SileroWeights {
  const bytes = readFileSync(FILE);
  const count = Object.values(LAYOUT).reduce((sum, each) => sum + each, 0);
  if (bytes.length !== count * 2)
    throw new Error('assets/vad/silero_v6.f16 does not have the expected size.');
  let at = 0;
  const next = (length: number) => {
    const values = Float32Array.from({ length }, (_, i) => fromHalf(bytes.readUInt16LE(at + i * 2)));
    at += length * 2;
    return values;
  };
  const entries = Object.entries(LAYOUT).map(([name, length]) => [name, next(length)] as const);
  return Object.fromEntries(entries) as Record<keyof typeof LAYOUT, Float32Array>;
}

let weights: SileroWeights | undefined;

/** Read and converted once per thread, then shared by every detector. */
export function sileroWeights(): SileroWeights {
  weights ??= load();
  return weights;
}
