/**
 * G.711 by table: 64 KB for each encoder, 512 bytes for each decoder. The tables are filled interval by
 * interval from ITU-T G.711's decision values, so that an encoder is exact for every 16-bit input; common
 * packages differ from the recommendation at a hundred or more decision boundaries.
 *
 * @module
 */

/** What 0 encodes to; the byte to pad with. */
export const PCMU_SILENCE = 0xff;
export const PCMA_SILENCE = 0xd5;

interface Law {
  readonly encode: Uint8Array;
  readonly decode: Int16Array;
}

/** Puts `code` at every 16-bit input whose magnitude lies in `[from, to)`, in steps of `1 << shift`. */
function fill(encode: Uint8Array, code: number, negative: boolean, from: number, to: number, shift: number) {
  const first = from << shift;
  const end = Math.min(to << shift, 32768);
  for (let magnitude = first; magnitude < end; magnitude++) {
    // Negative inputs are taken by one's complement: -1 is magnitude 0.
    encode[(negative ? ~magnitude : magnitude) & 0xffff] = code;
  }
}

function muLaw(): Law {
  const encode = new Uint8Array(65536);
  const decode = new Int16Array(256);
  const bias = 33; // on the 14-bit scale
  for (let code = 0; code < 256; code++) {
    const negative = code < 128;
    const segment = (~code >> 4) & 7;
    const mantissa = ~code & 15;
    const from = Math.max(0, ((16 + mantissa) << (segment + 1)) - bias);
    const top = segment === 7 && mantissa === 15;
    const to = top ? 8192 : ((17 + mantissa) << (segment + 1)) - bias;
    fill(encode, code, negative, from, to, 2);
    const magnitude = (((33 + 2 * mantissa) << segment) - bias) * 4;
    decode[code] = negative ? -magnitude : magnitude;
  }
  return { encode, decode };
}

function aLaw(): Law {
  const encode = new Uint8Array(65536);
  const decode = new Int16Array(256);
  for (let code = 0; code < 256; code++) {
    const plain = code ^ 0x55; // every second bit travels inverted
    const negative = plain < 128;
    const segment = (plain >> 4) & 7;
    const mantissa = plain & 15;
    // Segments 0 and 1 share one step; from there each doubles it.
    const base = segment === 0 ? mantissa : 16 + mantissa;
    const step = Math.max(0, segment - 1);
    fill(encode, code, negative, base << step, (base + 1) << step, 4);
    const magnitude = ((base << 4) + 8) << step;
    decode[code] = negative ? -magnitude : magnitude;
  }
  return { encode, decode };
}

const LAWS = { pcmu: muLaw(), pcma: aLaw() } as const;

export type G711Law = keyof typeof LAWS;

/** 16-bit samples → one byte each (ITU-T G.711). */
export function encodeG711(samples: Int16Array, law: G711Law): Uint8Array {
  const table = LAWS[law].encode;
  const bytes = new Uint8Array(samples.length);
  for (let i = 0; i < samples.length; i++) bytes[i] = table[(samples[i] ?? 0) & 0xffff] ?? 0;
  return bytes;
}

/** Bytes → 16-bit samples, one for each byte (ITU-T G.711). */
export function decodeG711(bytes: Uint8Array, law: G711Law): Int16Array {
  const table = LAWS[law].decode;
  const samples = new Int16Array(bytes.length);
  for (let i = 0; i < bytes.length; i++) samples[i] = table[bytes[i] ?? 0] ?? 0;
  return samples;
}
