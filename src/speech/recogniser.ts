/**
 * The offline recogniser: SoundSwallower in worker threads, so that one caller's recognition can't delay
 * another caller's audio.
 *
 * @module
 */

import { extname } from 'node:path';
import { VoiceError } from '../errors.ts';
import type { Recogniser, Recognition, SpeechGrammar } from './contract.ts';
import type { RecogniserWorkerData, RecognitionRequest } from './recogniser-worker.ts';
import { WorkerPool } from './worker-pool.ts';

/** Longest utterance: half a minute at 16 kHz. */
export const MAX_UTTERANCE_SAMPLES = 30 * 16_000;

/** Locales whose acoustic model ships. */
export const RECOGNISER_LOCALES = ['en-us', 'fr-fr'] as const;

export interface RecogniserOptions {
  /** One of `RECOGNISER_LOCALES`. */
  readonly locale: string;
  /** Threads, each with a model of its own (about 60 MB). @defaultValue 1 */
  readonly workers?: number;
}

class GrammarRecogniser implements Recogniser {
  readonly #pool: WorkerPool<RecognitionRequest, Recognition>;

  constructor(options: RecogniserOptions) {
    const data: RecogniserWorkerData = { locale: options.locale };
    this.#pool = new WorkerPool({
      name: 'recogniser',
      url: new URL(`./recogniser-worker${extname(import.meta.url)}`, import.meta.url),
      workerData: data,
      size: options.workers ?? 1,
    });
  }

  async recognise(samples: Int16Array, grammar: SpeechGrammar): Promise<Recognition> {
    if (samples.length > MAX_UTTERANCE_SAMPLES) {
      throw new VoiceError('SPEECH_FAILED', 'An utterance has at most half a minute.');
    }
    const copy = samples.slice();
    return this.#pool.run({ samples: copy, grammar }, { transfer: [copy.buffer] });
  }

  close(): Promise<void> {
    return this.#pool.close();
  }
}

/** @throws VoiceError `SPEECH_FAILED` for a locale without a model; `PHRASE_INVALID` from `recognise` */
export function createRecogniser(options: RecogniserOptions): Recogniser {
  if (!RECOGNISER_LOCALES.some((locale) => locale === options.locale)) {
    const known = RECOGNISER_LOCALES.join(', ');
    throw new VoiceError('SPEECH_FAILED', `No acoustic model for ${options.locale}; there are ${known}.`);
  }
  return new GrammarRecogniser(options);
}
