/**
 * The offline synthesiser: everything that must be said word for word. It speaks with flite's voice slt, in a
 * worker thread. Flite speaks English only; how French comes out of it is in `french.ts`.
 *
 * @module
 */

import { extname } from 'node:path';
import { concatSamples, loadAudio, resample } from '../audio/index.ts';
import { VoiceError } from '../errors.ts';
import type { SpeechAudio, Synthesiser } from './contract.ts';
import { loadDictionary } from './dictionary.ts';
import { respellFrench } from './french.ts';
import { splitSentences } from './sentences.ts';
import type { SynthesisRequest, SynthesisResponse } from './synthesiser-worker.ts';
import { WorkerPool } from './worker-pool.ts';

/** Longest text for one call; two minutes of speech. */
export const MAX_SYNTHESIS_CHARS = 2000;

/** Sentences whose speech is kept. */
export const MAX_CACHED_SENTENCES = 64;

/** Longer ones are not worth their memory. */
export const MAX_CACHED_CHARS = 160;

const SAMPLE_RATE = 16_000;

/** Silence between two sentences of one text. */
const PAUSE_MS = 180;

/** Kept around the speech when its own silence is cut off. */
const LEAD_MS = 20;
const TAIL_MS = 60;

/** Root mean square of 10 ms below which it is silence; flite's own silence is digital or nearly so. */
const SILENCE_RMS = 60;

export interface SynthesiserOptions {
  /** A folder of `assets/locales`, e.g. `en-us`. */
  readonly locale: string;
  /** One of flite's voices: slt, rms, awb, kal16, kal. @defaultValue 'slt' */
  readonly voice?: string;
  /** 1 is the voice's own speed, 1.2 a fifth slower. @defaultValue 1.05 */
  readonly stretch?: number;
  /** Threads that speak at the same time. @defaultValue 1 */
  readonly workers?: number;
}

/** Cuts the silence off both ends, all but a breath. */
export function trimSilence(samples: Int16Array): Int16Array {
  const frame = SAMPLE_RATE / 100;
  const loud = (at: number) => {
    let sum = 0;
    for (let i = at; i < at + frame && i < samples.length; i++) sum += (samples[i] ?? 0) ** 2;
    return Math.sqrt(sum / frame) >= SILENCE_RMS;
  };
  let start = 0;
  while (start < samples.length && !loud(start)) start += frame;
  let end = samples.length;
  while (end > start && !loud(end - frame)) end -= frame;
  if (start >= end) return new Int16Array(0);
  const lead = (LEAD_MS * SAMPLE_RATE) / 1000;
  const tail = (TAIL_MS * SAMPLE_RATE) / 1000;
  return samples.slice(Math.max(0, start - lead), Math.min(samples.length, end + tail));
}

class FliteSynthesiser implements Synthesiser {
  readonly #options: Required<SynthesiserOptions>;
  readonly #pool: WorkerPool<SynthesisRequest, SynthesisResponse>;
  /** Sentence → speech, least recently used first. */
  readonly #cache = new Map<string, Int16Array>();

  constructor(options: SynthesiserOptions) {
    this.#options = { voice: 'slt', stretch: 1.05, workers: 1, ...options };
    this.#pool = new WorkerPool({
      name: 'synthesiser',
      url: new URL(`./synthesiser-worker${extname(import.meta.url)}`, import.meta.url),
      workerData: null,
      size: this.#options.workers,
    });
  }

  /** The samples may be shared with a cache: read them, don't change them. */
  async synthesise(text: string, options?: { signal?: AbortSignal }): Promise<SpeechAudio> {
    if (text.length > MAX_SYNTHESIS_CHARS) {
      throw new VoiceError(
        'SPEECH_FAILED',
        `A text to be spoken has at most ${MAX_SYNTHESIS_CHARS} characters.`,
      );
    }
    await loadAudio();
    const pause = new Int16Array((PAUSE_MS * SAMPLE_RATE) / 1000);
    const parts: Int16Array[] = [];
    // One after the other: a long text must not fill the queue that other callers wait in.
    for (const sentence of splitSentences(text)) {
      if (parts.length > 0) parts.push(pause);
      parts.push(await this.#sentence(sentence, options?.signal));
    }
    return { samples: concatSamples(parts), sampleRate: SAMPLE_RATE };
  }

  close(): Promise<void> {
    this.#cache.clear();
    return this.#pool.close();
  }

  async #sentence(sentence: string, signal: AbortSignal | undefined): Promise<Int16Array> {
    const cached = this.#cache.get(sentence);
    if (cached) {
      this.#remember(sentence, cached);
      return cached;
    }
    const { voice, stretch, locale } = this.#options;
    const words = locale.startsWith('fr-')
      ? respellFrench(sentence, loadDictionary(locale))
      : { text: sentence };
    const request: SynthesisRequest = { ...words, voice, stretch };
    const { samples, sampleRate } = await this.#pool.run(request, { signal });
    if (sampleRate !== 8000 && sampleRate !== SAMPLE_RATE) {
      throw new VoiceError('SPEECH_FAILED', `The voice speaks at ${sampleRate} Hz.`);
    }
    const speech = trimSilence(resample(samples, sampleRate, SAMPLE_RATE));
    if (sentence.length <= MAX_CACHED_CHARS) this.#remember(sentence, speech);
    return speech;
  }

  #remember(sentence: string, speech: Int16Array): void {
    this.#cache.delete(sentence);
    this.#cache.set(sentence, speech);
    const [oldest] = this.#cache.keys();
    if (this.#cache.size > MAX_CACHED_SENTENCES && oldest !== undefined) this.#cache.delete(oldest);
  }
}

/**
 * Starts no thread until something is to be said.
 *
 * @throws VoiceError `SPEECH_FAILED` from `synthesise`
 */
export function createSynthesiser(options: SynthesiserOptions): Synthesiser {
  return new FliteSynthesiser(options);
}
