/**
 * Between audio as it travels (base64 or bytes, in some encoding) and 16-bit samples.
 *
 * @module
 */

import { type AudioData, type AudioFormat, audioBytes } from './format.ts';
import { decodeG711, encodeG711, PCMA_SILENCE, PCMU_SILENCE } from './g711.ts';

const LITTLE_ENDIAN = new Uint8Array(new Uint16Array([1]).buffer)[0] === 1;

/** Little-endian bytes → samples. A half sample at the end is dropped. */
export function pcm16ToSamples(bytes: Uint8Array): Int16Array {
  const count = bytes.byteLength >> 1;
  if (LITTLE_ENDIAN) {
    // The view shares memory only when it is aligned; a copy is always safe to keep.
    const copy = bytes.slice(0, count * 2);
    return new Int16Array(copy.buffer, copy.byteOffset, count);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Int16Array.from({ length: count }, (_, i) => view.getInt16(i * 2, true));
}

/** Samples → little-endian bytes; on little-endian machines a view of the same memory. */
export function samplesToPcm16(samples: Int16Array): Uint8Array {
  if (LITTLE_ENDIAN) return new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength);
  const bytes = new Uint8Array(samples.length * 2);
  const view = new DataView(bytes.buffer);
  for (let i = 0; i < samples.length; i++) view.setInt16(i * 2, samples[i] ?? 0, true);
  return bytes;
}

/** Audio in `format` → mono samples at `format.sampleRate`. */
export function toSamples(audio: AudioData, format: AudioFormat): Int16Array {
  const bytes = audioBytes(audio);
  return format.encoding === 'pcm16' ? pcm16ToSamples(bytes) : decodeG711(bytes, format.encoding);
}

/** Samples at `format.sampleRate` → bytes in `format`. */
export function fromSamples(samples: Int16Array, format: AudioFormat): Uint8Array {
  return format.encoding === 'pcm16' ? samplesToPcm16(samples) : encodeG711(samples, format.encoding);
}

/** The byte that silence is made of in `format`. */
export function silenceByte(format: AudioFormat): number {
  switch (format.encoding) {
    case 'pcmu':
      return PCMU_SILENCE;
    case 'pcma':
      return PCMA_SILENCE;
    case 'pcm16':
      return 0;
    default:
      return format.encoding satisfies never;
  }
}

/** `byteLength` bytes of silence in `format`. */
export function silence(byteLength: number, format: AudioFormat): Uint8Array {
  return new Uint8Array(byteLength).fill(silenceByte(format));
}

/** -1 to 1, as detectors take it. */
export function samplesToFloat(samples: Int16Array): Float32Array {
  const out = new Float32Array(samples.length);
  for (let i = 0; i < samples.length; i++) out[i] = (samples[i] ?? 0) / 32768;
  return out;
}
