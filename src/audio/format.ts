/**
 * How audio is written down: encoding and rate, and the two shapes in which it travels.
 *
 * @module
 */

/** `pcmu`/`pcma`: G.711, one byte a sample. `pcm16`: signed 16-bit little-endian, mono. */
export type AudioEncoding = 'pcmu' | 'pcma' | 'pcm16';

export type SampleRate = 8000 | 16000 | 24000 | 48000;

export interface AudioFormat {
  readonly encoding: AudioEncoding;
  readonly sampleRate: SampleRate;
}

/**
 * Audio on its way: base64 text exactly as a JSON wire carried it, or raw bytes. A string passes from a leg
 * to a model untouched when both speak the same format; only who needs samples decodes it.
 */
export type AudioData = string | Uint8Array;

export const PCMU_8K: AudioFormat = { encoding: 'pcmu', sampleRate: 8000 };
export const PCM16_8K: AudioFormat = { encoding: 'pcm16', sampleRate: 8000 };
export const PCM16_16K: AudioFormat = { encoding: 'pcm16', sampleRate: 16000 };
export const PCM16_24K: AudioFormat = { encoding: 'pcm16', sampleRate: 24000 };

export function sameFormat(a: AudioFormat, b: AudioFormat): boolean {
  return a.encoding === b.encoding && a.sampleRate === b.sampleRate;
}

/** Bytes of one sample: 1 for G.711, 2 for PCM16. */
export function bytesPerSample(format: AudioFormat): 1 | 2 {
  return format.encoding === 'pcm16' ? 2 : 1;
}

/** Bytes of one millisecond (always whole: every supported rate is a multiple of 1,000). */
export function bytesPerMs(format: AudioFormat): number {
  return (format.sampleRate / 1000) * bytesPerSample(format);
}

/** Decoded length in bytes, without decoding. */
export function audioByteLength(audio: AudioData): number {
  if (typeof audio !== 'string') return audio.byteLength;
  const length = audio.length;
  if (length === 0) return 0;
  const padding = audio.charCodeAt(length - 1) !== 61 ? 0 : audio.charCodeAt(length - 2) === 61 ? 2 : 1;
  return Math.floor((length * 3) / 4) - padding;
}

/** Length in milliseconds, not rounded. */
export function audioDurationMs(audio: AudioData, format: AudioFormat): number {
  return audioByteLength(audio) / bytesPerMs(format);
}

/** The raw bytes; decodes base64 when it has to. */
export function audioBytes(audio: AudioData): Uint8Array {
  return typeof audio === 'string' ? Buffer.from(audio, 'base64') : audio;
}

/** Base64 text; encodes when it has to. */
export function audioBase64(audio: AudioData): string {
  if (typeof audio === 'string') return audio;
  return Buffer.from(audio.buffer, audio.byteOffset, audio.byteLength).toString('base64');
}

/** What base64 is decoded into when only its being right counts. */
const scratch = Buffer.alloc(16 * 1024);
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** Whether a text is whole base64 of the usual alphabet, padded where it has to be. */
export function isBase64(text: string): boolean {
  if (text.length % 4 !== 0) return false;
  const bytes = audioByteLength(text);
  if (bytes > scratch.length) return BASE64.test(text);
  // The decoder is several times faster than a look at every character. It leaves out what is no digit, so that fewer
  // bytes come out; only the two digits of the other alphabet pass for digits.
  return scratch.write(text, 'base64') === bytes && !text.includes('-') && !text.includes('_');
}
