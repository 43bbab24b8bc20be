/**
 * Reads a recording, whatever it is, by its content: WAV, Ogg Opus or WebM Opus.
 *
 * @module
 */

import { readFile, stat } from 'node:fs/promises';
import { isVoiceError, VoiceError } from '../errors.ts';
import type { SampleRate } from './format.ts';
import { readOpusFile } from './opus-file.ts';
import { readWav } from './wav.ts';

/** Larger files are refused before they are read. */
export const MAX_AUDIO_FILE_BYTES = 256 * 1024 * 1024;

export interface AudioFile {
  /** Mono; the mean of both channels when the file is stereo. */
  readonly samples: Int16Array;
  readonly sampleRate: number;
}

function startsWith(bytes: Uint8Array, signature: readonly number[]): boolean {
  return signature.every((byte, i) => bytes[i] === byte);
}

const SIGNATURES = {
  riff: [0x52, 0x49, 0x46, 0x46],
  ogg: [0x4f, 0x67, 0x67, 0x53],
  ebml: [0x1a, 0x45, 0xdf, 0xa3],
} as const;

function mono(channels: readonly Int16Array[]): Int16Array {
  const [left = new Int16Array(0), right] = channels;
  if (!right) return left;
  return left.map((sample, i) => (sample + (right[i] ?? 0)) >> 1);
}

async function load(path: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(path);
    if (size > MAX_AUDIO_FILE_BYTES) {
      throw new VoiceError(
        'AUDIO_FILE_INVALID',
        `The audio file is larger than ${MAX_AUDIO_FILE_BYTES} bytes.`,
      );
    }
    return await readFile(path);
  } catch (error) {
    if (isVoiceError(error)) throw error;
    throw new VoiceError('AUDIO_FILE_INVALID', 'The audio file can’t be read.', { cause: error });
  }
}

/**
 * A WAV keeps its own rate; Opus has none, so it is decoded at the rate asked for.
 *
 * @param source - a path, or the file's content
 * @param options.opusSampleRate - rate to decode Opus at; 24 kHz by default
 * @throws VoiceError `AUDIO_FILE_INVALID`
 */
export async function readAudioFile(
  source: string | Uint8Array,
  options?: { opusSampleRate?: SampleRate },
): Promise<AudioFile> {
  const bytes = typeof source === 'string' ? await load(source) : source;
  if (startsWith(bytes, SIGNATURES.riff)) {
    const wav = readWav(bytes);
    return { samples: mono(wav.channels), sampleRate: wav.sampleRate };
  }
  const container = startsWith(bytes, SIGNATURES.ogg)
    ? 'ogg'
    : startsWith(bytes, SIGNATURES.ebml)
      ? 'webm'
      : null;
  if (!container) {
    throw new VoiceError('AUDIO_FILE_INVALID', 'Not a WAV, Ogg Opus or WebM Opus file.');
  }
  const sampleRate = options?.opusSampleRate ?? 24_000;
  return { samples: await readOpusFile(bytes, container, sampleRate), sampleRate };
}
