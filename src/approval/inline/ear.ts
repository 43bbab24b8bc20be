/**
 * The caller's audio while a prompt listens: cut into utterances, each with when it began, for the recogniser, and in its
 * own format, for the model if it was no decision.
 *
 * @module
 */

import {
  type AudioData,
  type AudioFormat,
  audioByteLength,
  audioBytes,
  audioDurationMs,
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
  VAD_WINDOW,
  type VoiceActivityDetector,
} from '../../speech/index.ts';

/** Audio in front of and behind an utterance that belongs to it. */
const LEAD_MS = 300;
const TAIL_MS = 200;
/** Nobody needs longer to say a code; what is longer is conversation. */
export const MAX_ANSWER_MS = 6000;
/** Audio that is remembered at most, in ms. */
export const MAX_EAR_MS = 12_000;
/** A click or a breath is no utterance. */
const MIN_SPEECH_MS = 160;
const WINDOW_MS = VAD_WINDOW / 16;

export interface Utterance {
  /** On the clock's `now`: when speech began. */
  readonly startedAt: number;
  readonly speechMs: number;
  /** 16 kHz. */
  readonly samples: Int16Array;
  /** The same in the format it came in. */
  readonly original: readonly AudioData[];
}

interface Chunk {
  readonly startMs: number;
  readonly endMs: number;
  readonly audio: AudioData;
}

export class AnswerEar {
  readonly #format: AudioFormat;
  readonly #transcoder: Transcoder;
  readonly #detector: VoiceActivityDetector = createVoiceActivityDetector();
  readonly #endpointer = new Endpointer({ maxSpeechMs: MAX_ANSWER_MS, minSpeechMs: MIN_SPEECH_MS });
  readonly #onUtterance: (utterance: Utterance) => void;
  #windows: Int16Array[] = [];
  #firstMs = 0;
  #rest: Int16Array = new Int16Array(0);
  #chunks: Chunk[] = [];
  #heardMs = 0;
  #startMs = 0;

  constructor(format: AudioFormat, onUtterance: (utterance: Utterance) => void) {
    this.#format = format;
    this.#transcoder = createTranscoder(format, PCM16_16K);
    this.#onUtterance = onUtterance;
  }

  /** Somebody is in the middle of saying something. */
  get speaking(): boolean {
    return this.#endpointer.speaking;
  }

  hear(audio: AudioData, now: number): void {
    if (audioByteLength(audio) === 0) return;
    const startMs = this.#heardMs;
    this.#heardMs += audioDurationMs(audio, this.#format);
    this.#chunks.push({ startMs, endMs: this.#heardMs, audio });
    while ((this.#chunks[0]?.endMs ?? Number.POSITIVE_INFINITY) < this.#heardMs - MAX_EAR_MS)
      this.#chunks.shift();
    const samples = concatSamples([this.#rest, pcm16ToSamples(audioBytes(this.#transcoder.process(audio)))]);
    let at = 0;
    for (; at + VAD_WINDOW <= samples.length; at += VAD_WINDOW)
      this.#window(samples.slice(at, at + VAD_WINDOW), now);
    this.#rest = samples.slice(at);
  }

  close(): void {
    this.#transcoder.close();
    this.#windows = [];
    this.#chunks = [];
  }

  #window(samples: Int16Array, now: number): void {
    this.#windows.push(samples);
    const event = this.#endpointer.push(this.#detector.process(samplesToFloat(samples)));
    if (event?.type === 'speechStarted') {
      this.#startMs = event.atMs;
      this.#drop(event.atMs - LEAD_MS);
    } else if (event?.type === 'speechStopped') {
      const count = Math.ceil((event.atMs + TAIL_MS - this.#firstMs) / WINDOW_MS);
      const utterance = concatSamples(this.#windows.slice(0, count));
      this.#windows = [];
      this.#firstMs = this.#endpointer.nowMs;
      const [from, to] = [this.#startMs - LEAD_MS, event.atMs + TAIL_MS];
      this.#onUtterance({
        startedAt: now - (this.#endpointer.nowMs - this.#startMs),
        speechMs: event.atMs - this.#startMs,
        samples: utterance,
        original: this.#chunks
          .filter((each) => each.endMs > from && each.startMs < to)
          .map((each) => each.audio),
      });
    } else if (!this.#endpointer.speaking) {
      this.#drop(this.#endpointer.nowMs - 2 * LEAD_MS);
    }
  }

  #drop(ms: number): void {
    const count = Math.max(0, Math.floor((ms - this.#firstMs) / WINDOW_MS));
    this.#windows.splice(0, count);
    this.#firstMs += count * WINDOW_MS;
  }
}
