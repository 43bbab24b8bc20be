/**
 * Words → audio in the session's output format, sentence by sentence, in chunks as a server would send them.
 *
 * @module
 */

import {
  type AudioFormat,
  audioBytes,
  bytesPerMs,
  createTranscoder,
  PCM16_16K,
  samplesToPcm16,
} from '../../audio/index.ts';
import type { Clock } from '../../clock.ts';
import { type Synthesiser, splitSentences } from '../../speech/index.ts';

export const CHUNK_MS = 200;

/** Silence between two sentences. */
const PAUSE_MS = 180;

export type Utterance =
  | { readonly type: 'sentence'; readonly text: string; readonly startMs: number; readonly endMs: number }
  | { readonly type: 'chunk'; readonly audio: Uint8Array };

/**
 * Yields each sentence before its chunks. Ends early when aborted.
 *
 * @throws VoiceError `SPEECH_FAILED`
 */
export async function* speak(
  text: string,
  options: {
    readonly synthesiser: Synthesiser;
    readonly clock: Clock;
    readonly format: AudioFormat;
    readonly signal: AbortSignal;
  },
): AsyncGenerator<Utterance> {
  const { synthesiser, clock, format, signal } = options;
  const transcoder = createTranscoder(PCM16_16K, format);
  const msBytes = bytesPerMs(format);
  let sentBytes = 0;
  try {
    const sentences = splitSentences(text);
    for (const [i, sentence] of sentences.entries()) {
      const { samples } = await clock.track(synthesiser.synthesise(sentence, { signal }));
      if (signal.aborted) return;
      const last = i === sentences.length - 1;
      const padded = new Int16Array(samples.length + (last ? 0 : PAUSE_MS * 16));
      padded.set(samples);
      const spoken = audioBytes(transcoder.process(samplesToPcm16(padded)));
      const audio = last ? Buffer.concat([spoken, transcoder.flush()]) : spoken;
      const startMs = sentBytes / msBytes;
      sentBytes += audio.byteLength;
      // The pause behind a sentence is not part of its words.
      const endMs = last ? sentBytes / msBytes : startMs + samples.length / 16;
      yield { type: 'sentence', text: sentence, startMs, endMs };
      for (let at = 0; at < audio.byteLength; at += CHUNK_MS * msBytes) {
        if (signal.aborted) return;
        yield { type: 'chunk', audio: audio.subarray(at, at + CHUNK_MS * msBytes) };
      }
    }
  } finally {
    transcoder.close();
  }
}
