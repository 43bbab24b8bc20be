/**
 * The caller's audio → utterances. Everything here is counted in samples: it has no other clock.
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
} from '../../audio/index.ts';
import {
  createVoiceActivityDetector,
  Endpointer,
  type EndpointerOptions,
  VAD_WINDOW,
  type VoiceActivityDetector,
} from '../../speech/index.ts';

/** Audio in front of the first speech window that belongs to the utterance: word beginnings are quiet. */
export const PREROLL_MS = 300;

/** Audio behind the last speech window that belongs to it. */
const TAIL_MS = 200;

const WINDOW_MS = VAD_WINDOW / 16;

export interface EarEvents {
  onSpeechStarted(audioStartMs: number): void;
  /** @param samples - the utterance with a little around it, 16 kHz; `speechMs` of it are speech */
  onSpeechStopped(audioEndMs: number, samples: Int16Array, speechMs: number): void;
}

export class Ear {
  readonly #transcoder: Transcoder;
  readonly #detector: VoiceActivityDetector = createVoiceActivityDetector();
  readonly #endpointer: Endpointer;
  readonly #events: EarEvents;
  /** Windows from `#firstMs` on: the pre-roll, or all of the utterance. */
  #windows: Int16Array[] = [];
  #firstMs = 0;
  #rest = new Int16Array(0);
  #startedMs = 0;

  constructor(format: AudioFormat, events: EarEvents, options?: EndpointerOptions) {
    this.#transcoder = createTranscoder(format, PCM16_16K);
    this.#endpointer = new Endpointer(options);
    this.#events = events;
  }

  /** Takes the next audio, in chunks of any size. */
  hear(audio: AudioData): void {
    const samples = pcm16ToSamples(audioBytes(this.#transcoder.process(audio)));
    const all = concatSamples([this.#rest, samples]);
    let at = 0;
    for (; at + VAD_WINDOW <= all.length; at += VAD_WINDOW) this.#window(all.slice(at, at + VAD_WINDOW));
    this.#rest = all.slice(at);
  }

  close(): void {
    this.#transcoder.close();
    this.#windows = [];
  }

  #window(samples: Int16Array): void {
    this.#windows.push(samples);
    const event = this.#endpointer.push(this.#detector.process(samplesToFloat(samples)));
    if (event?.type === 'speechStarted') {
      this.#startedMs = event.atMs;
      this.#dropBefore(event.atMs - PREROLL_MS);
      this.#events.onSpeechStarted(event.atMs);
    } else if (event?.type === 'speechStopped') {
      const count = Math.ceil((event.atMs + TAIL_MS - this.#firstMs) / WINDOW_MS);
      const utterance = concatSamples(this.#windows.slice(0, count));
      this.#windows = [];
      this.#firstMs = this.#endpointer.nowMs;
      this.#events.onSpeechStopped(event.atMs, utterance, event.atMs - this.#startedMs);
    } else if (!this.#endpointer.speaking) {
      // Speech counts as begun only after a while; until then its first windows must not be dropped.
      this.#dropBefore(this.#endpointer.nowMs - 2 * PREROLL_MS);
    }
  }

  #dropBefore(ms: number): void {
    const count = Math.max(0, Math.floor((ms - this.#firstMs) / WINDOW_MS));
    if (count === 0) return;
    this.#windows.splice(0, count);
    this.#firstMs += count * WINDOW_MS;
  }
}
