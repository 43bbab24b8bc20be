/**
 * What a recorded caller says, clip by clip, and when.
 *
 * @module
 */

import { fromSamples, PCMU_8K, readAudioFile, resample } from '../../audio/index.ts';
import { VoiceError } from '../../errors.ts';

/**
 * When a clip begins.
 *
 * - `answered`: the agent has spoken since the caller's last word and has been silent for `delayMs`
 * - `talks-over`: the agent has been speaking for `delayMs` without a pause
 * - `now`: `delayMs` after the caller's last word, whatever the agent does
 */
export interface Cue {
  readonly when: 'answered' | 'talks-over' | 'now';
  readonly delayMs: number;
}

export interface Clip {
  /** For people who watch; not sent anywhere. */
  readonly name: string;
  /** µ-law, 8 kHz, mono. */
  readonly audio: Uint8Array;
  readonly cue: Cue;
}

/** Longest recording that one clip may be. */
export const MAX_CLIP_MS = 30 * 60 * 1000;

/**
 * Reads a recording (WAV, Ogg Opus, WebM Opus) as a clip for a phone line.
 *
 * @throws VoiceError `AUDIO_FILE_INVALID`
 */
export async function readClip(path: string, cue: Cue, name = path): Promise<Clip> {
  const { samples, sampleRate } = await readAudioFile(path);
  if (sampleRate !== 8000 && sampleRate !== 16000 && sampleRate !== 24000 && sampleRate !== 48000) {
    throw new VoiceError(
      'AUDIO_FILE_INVALID',
      `${sampleRate} Hz is not a rate we take: use 8, 16, 24 or 48 kHz.`,
    );
  }
  if (samples.length / sampleRate > MAX_CLIP_MS / 1000) {
    throw new VoiceError(
      'AUDIO_FILE_INVALID',
      `The recording is longer than ${MAX_CLIP_MS / 60_000} minutes.`,
    );
  }
  return { name, cue, audio: fromSamples(resample(samples, sampleRate, 8000), PCMU_8K) };
}
