/**
 * WAV files: PCM16, µ-law and A-law in; PCM16 and µ-law out.
 *
 * @module
 */

import { VoiceError } from '../errors.ts';
import { decodeG711, encodeG711 } from './g711.ts';
import { pcm16ToSamples, samplesToPcm16 } from './samples.ts';

const FORMAT_TAG = { pcm16: 1, pcma: 6, pcmu: 7, extensible: 0xfffe } as const;

export type WavEncoding = 'pcm16' | 'pcmu' | 'pcma';

export interface WavFile {
  readonly encoding: WavEncoding;
  readonly sampleRate: number;
  /** One array for each channel, all of one length. */
  readonly channels: readonly Int16Array[];
}

interface WavFormat {
  readonly encoding: WavEncoding;
  readonly channelCount: number;
  readonly sampleRate: number;
}

function invalid(what: string): never {
  throw new VoiceError('AUDIO_FILE_INVALID', `Not a WAV file we can read: ${what}.`);
}

function parseFormat(view: DataView): WavFormat {
  if (view.byteLength < 16) invalid('its format chunk is too short');
  let tag = view.getUint16(0, true);
  if (tag === FORMAT_TAG.extensible) {
    if (view.byteLength < 26) invalid('its extensible format chunk is too short');
    tag = view.getUint16(24, true); // the sub-format's GUID starts with the plain tag
  }
  const channelCount = view.getUint16(2, true);
  const sampleRate = view.getUint32(4, true);
  const bits = view.getUint16(14, true);
  if (channelCount < 1 || channelCount > 2) invalid(`${channelCount} channels; 1 or 2 are taken`);
  if (sampleRate < 1000 || sampleRate > 192_000) invalid(`a sample rate of ${sampleRate} Hz`);
  const encoding = (['pcm16', 'pcma', 'pcmu'] as const).find((each) => FORMAT_TAG[each] === tag);
  if (!encoding) invalid(`format ${tag}; 16-bit PCM, A-law and µ-law are taken`);
  const wantedBits = encoding === 'pcm16' ? 16 : 8;
  if (bits !== wantedBits) invalid(`${bits} bits a sample; ${wantedBits} are taken`);
  return { encoding, channelCount, sampleRate };
}

function decode(bytes: Uint8Array, encoding: WavEncoding): Int16Array {
  return encoding === 'pcm16' ? pcm16ToSamples(bytes) : decodeG711(bytes, encoding);
}

/** @throws VoiceError `AUDIO_FILE_INVALID` */
export function readWav(bytes: Uint8Array): WavFile {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const fourCc = (at: number) => Buffer.from(bytes.subarray(at, at + 4)).toString('latin1');
  if (bytes.byteLength < 12 || fourCc(0) !== 'RIFF' || fourCc(8) !== 'WAVE') invalid('no RIFF/WAVE header');
  let format: WavFormat | undefined;
  for (let at = 12; at + 8 <= bytes.byteLength; ) {
    const id = fourCc(at);
    const size = view.getUint32(at + 4, true);
    const start = at + 8;
    if (id === 'fmt ') {
      if (start + size > bytes.byteLength) invalid('it ends inside its format chunk');
      format = parseFormat(new DataView(bytes.buffer, bytes.byteOffset + start, size));
    } else if (id === 'data') {
      if (!format) invalid('its data comes before its format');
      // Recorders that never came back to fill in the size leave 0 or all ones: then it is the rest.
      const open = size === 0xffffffff || (size === 0 && start < bytes.byteLength);
      if (!open && start + size > bytes.byteLength) invalid('it is cut off inside its data');
      const data = bytes.subarray(start, open ? bytes.byteLength : start + size);
      const channels = split(decode(data, format.encoding), format.channelCount);
      return { encoding: format.encoding, sampleRate: format.sampleRate, channels };
    }
    at = start + size + (size % 2);
  }
  return invalid(format ? 'it has no data' : 'it has no format');
}

function split(interleaved: Int16Array, channelCount: number): Int16Array[] {
  if (channelCount === 1) return [interleaved];
  const frames = Math.floor(interleaved.length / channelCount);
  return Array.from({ length: channelCount }, (_, channel) => {
    const samples = new Int16Array(frames);
    for (let i = 0; i < frames; i++) samples[i] = interleaved[i * channelCount + channel] ?? 0;
    return samples;
  });
}

/**
 * The header of a WAV file, up to where its data begins.
 *
 * @param dataBytes - bytes of sample data that follow; 0xffffffff while that is not known
 */
export function wavHeader(
  format: { encoding: WavEncoding; channelCount: number; sampleRate: number },
  dataBytes: number,
): Uint8Array {
  const pcm = format.encoding === 'pcm16';
  const sampleBytes = pcm ? 2 : 1;
  // Everything but PCM has the extension's size in `fmt ` and a `fact` chunk with the length in samples.
  const header = Buffer.alloc(pcm ? 44 : 58);
  const open = dataBytes === 0xffffffff;
  const padding = dataBytes % 2;
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(open ? 0xffffffff : header.length - 8 + dataBytes + padding, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(pcm ? 16 : 18, 16);
  header.writeUInt16LE(FORMAT_TAG[format.encoding], 20);
  header.writeUInt16LE(format.channelCount, 22);
  header.writeUInt32LE(format.sampleRate, 24);
  header.writeUInt32LE(format.sampleRate * format.channelCount * sampleBytes, 28);
  header.writeUInt16LE(format.channelCount * sampleBytes, 32);
  header.writeUInt16LE(sampleBytes * 8, 34);
  if (!pcm) {
    header.write('fact', 38, 'latin1');
    header.writeUInt32LE(4, 42);
    header.writeUInt32LE(open ? 0xffffffff : Math.floor(dataBytes / format.channelCount), 46);
  }
  header.write('data', header.length - 8, 'latin1');
  header.writeUInt32LE(dataBytes, header.length - 4);
  return header;
}

/** One or two channels of one length → a WAV file. Shorter channels are filled with silence. */
export function writeWav(file: {
  readonly sampleRate: number;
  readonly channels: readonly Int16Array[];
  /** @defaultValue 'pcm16' */
  readonly encoding?: WavEncoding;
}): Uint8Array {
  const encoding = file.encoding ?? 'pcm16';
  const channelCount = file.channels.length;
  const frames = Math.max(0, ...file.channels.map((samples) => samples.length));
  const interleaved = new Int16Array(frames * channelCount);
  file.channels.forEach((samples, channel) => {
    for (let i = 0; i < samples.length; i++) interleaved[i * channelCount + channel] = samples[i] ?? 0;
  });
  const data = encoding === 'pcm16' ? samplesToPcm16(interleaved) : encodeG711(interleaved, encoding);
  const header = wavHeader({ encoding, channelCount, sampleRate: file.sampleRate }, data.byteLength);
  return Buffer.concat([header, data, new Uint8Array(data.byteLength % 2)]);
}
