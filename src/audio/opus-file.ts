/**
 * Recorded Opus: Ogg (voice notes) and WebM (browser recordings), demultiplexed by prism-media and decoded by
 * our live decoder.
 *
 * @module
 */

import { VoiceError } from '../errors.ts';
import { prism } from '../lazy.ts';
import type { SampleRate } from './format.ts';
import { OpusDecoder } from './opus.ts';
import { concatSamples } from './resampler.ts';

/** Most packets taken from one file: an hour of 20 ms packets. */
export const MAX_FILE_PACKETS = 180_000;

export type OpusContainer = 'ogg' | 'webm';

interface Demuxed {
  readonly head: Uint8Array;
  readonly packets: readonly Uint8Array[];
}

function invalid(container: OpusContainer, what: string, cause?: unknown): VoiceError {
  const name = container === 'ogg' ? 'Ogg' : 'WebM';
  return new VoiceError('AUDIO_FILE_INVALID', `Not an ${name} Opus file we can read: ${what}.`, { cause });
}

function demux(bytes: Uint8Array, container: OpusContainer): Promise<Demuxed> {
  const { opus } = prism();
  return new Promise((resolve, reject) => {
    const demuxer = container === 'ogg' ? new opus.OggDemuxer() : new opus.WebmDemuxer();
    const packets: Uint8Array[] = [];
    let head: Uint8Array | undefined;
    demuxer.on('head', (data: Uint8Array) => {
      head = data;
    });
    demuxer.on('data', (packet: Uint8Array) => {
      packets.push(packet);
      if (packets.length > MAX_FILE_PACKETS) demuxer.destroy(invalid(container, 'it is longer than an hour'));
    });
    demuxer.once('error', (error) =>
      reject(error instanceof VoiceError ? error : invalid(container, 'its structure is broken', error)),
    );
    demuxer.once('end', () => {
      if (!head) reject(invalid(container, 'it has no Opus header'));
      else if (packets.length === 0) reject(invalid(container, 'it holds no audio'));
      else resolve({ head, packets });
    });
    demuxer.end(bytes);
  });
}

/** Position of the last page in 48 kHz samples (RFC 7845 section 4): where the recording really ends. */
function oggEnd(bytes: Uint8Array): number | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const at = buffer.lastIndexOf('OggS');
  if (at < 0 || at + 14 > buffer.length) return null;
  const position = buffer.readBigInt64LE(at + 6);
  return position < 0n ? null : Number(position);
}

/**
 * Decodes a whole file to mono samples at `sampleRate`, without the encoder's pre-skip.
 *
 * @throws VoiceError `AUDIO_FILE_INVALID`
 */
export async function readOpusFile(
  bytes: Uint8Array,
  container: OpusContainer,
  sampleRate: SampleRate,
): Promise<Int16Array> {
  const { head, packets } = await demux(bytes, container);
  // RFC 7845 section 5.1: magic (8), version, channel count, pre-skip in 48 kHz samples (16 bits).
  if (head.byteLength < 19) throw invalid(container, 'its Opus header is too short');
  const preSkip = (head[10] ?? 0) | ((head[11] ?? 0) << 8);
  const decoder = new OpusDecoder(sampleRate); // mono: libopus mixes stereo down
  try {
    const samples = concatSamples(packets.map((packet) => decoder.decode(packet)));
    const scale = sampleRate / 48_000;
    const end = container === 'ogg' ? oggEnd(bytes) : null;
    return samples.slice(Math.round(preSkip * scale), end === null ? undefined : Math.round(end * scale));
  } catch (error) {
    throw invalid(container, 'a packet is corrupt', error);
  } finally {
    decoder.free();
  }
}
