/**
 * The caller's first words, kept until the session is configured.
 *
 * @module
 */

import {
  type AudioData,
  type AudioFormat,
  audioByteLength,
  audioDurationMs,
  createTranscoder,
  sameFormat,
} from '../../audio/index.ts';

/** Audio kept before the session is ready; the oldest goes first. */
export const MAX_HELD_AUDIO_MS = 10_000;

export class HeldAudio {
  readonly #format: AudioFormat;
  #frames: AudioData[] = [];
  #ms = 0;
  #droppedMs = 0;

  constructor(format: AudioFormat) {
    this.#format = format;
  }

  get heldMs(): number {
    return this.#ms;
  }

  /** How much did not fit, since the start. */
  get droppedMs(): number {
    return this.#droppedMs;
  }

  push(audio: AudioData): void {
    this.#frames.push(audio);
    this.#ms += audioDurationMs(audio, this.#format);
    while (this.#ms > MAX_HELD_AUDIO_MS) {
      const oldest = this.#frames.shift();
      if (oldest === undefined) break;
      const ms = audioDurationMs(oldest, this.#format);
      this.#ms -= ms;
      this.#droppedMs += ms;
    }
  }

  /** Everything held, oldest first, in the format that counts now; it is empty afterwards. */
  take(format: AudioFormat): AudioData[] {
    const frames = this.#frames;
    this.#frames = [];
    this.#ms = 0;
    if (frames.length === 0 || sameFormat(format, this.#format)) return frames;
    const transcoder = createTranscoder(this.#format, format);
    const converted = [...frames.map((frame) => transcoder.process(frame)), transcoder.flush()];
    transcoder.close();
    return converted.filter((audio) => audioByteLength(audio) > 0);
  }
}
