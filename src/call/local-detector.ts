/**
 * Hears the caller's voice without the model: quicker than a round trip to it, and for models that say nothing of
 * the caller's speech.
 *
 * @module
 */

import {
  type AudioData,
  type AudioFormat,
  audioBytes,
  concatSamples,
  createTranscoder,
  PCM16_16K,
  pcm16ToSamples,
  samplesToFloat,
  type Transcoder,
} from '../audio/index.ts';
import {
  createVoiceActivityDetector,
  Endpointer,
  VAD_WINDOW,
  type VoiceActivityDetector,
} from '../speech/index.ts';

/** Silence after which the caller has stopped speaking: no turn ends by it, only an interruption. */
const SILENCE_MS = 300;

export class LocalDetector {
  readonly #transcoder: Transcoder;
  readonly #detector: VoiceActivityDetector;
  readonly #endpointer = new Endpointer({ silenceMs: SILENCE_MS });
  #rest = new Int16Array(0);

  constructor(format: AudioFormat, createDetector = createVoiceActivityDetector) {
    this.#transcoder = createTranscoder(format, PCM16_16K);
    this.#detector = createDetector();
  }

  /** Takes the next audio, in chunks of any size; returns what happened in it. */
  hear(audio: AudioData): ('speechStarted' | 'speechStopped')[] {
    const samples = pcm16ToSamples(audioBytes(this.#transcoder.process(audio)));
    const all = concatSamples([this.#rest, samples]);
    const heard: ('speechStarted' | 'speechStopped')[] = [];
    let at = 0;
    for (; at + VAD_WINDOW <= all.length; at += VAD_WINDOW) {
      const window = samplesToFloat(all.subarray(at, at + VAD_WINDOW));
      const event = this.#endpointer.push(this.#detector.process(window));
      if (event) heard.push(event.type);
    }
    this.#rest = all.slice(at);
    return heard;
  }

  close(): void {
    this.#transcoder.close();
  }
}
