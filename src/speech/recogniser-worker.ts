/**
 * The worker that listens: one SoundSwallower decoder with one locale's acoustic model.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, sep } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import createModule, { type Decoder } from 'soundswallower';
import { isVoiceError, VoiceError } from '../errors.ts';
import type { Recognition, SpeechGrammar } from './contract.ts';
import { grammarText, grammarWords, phoneLoopText, phoneWord, rejectPhones } from './jsgf.ts';
import type { JobAnswer, JobMessage } from './worker-pool.ts';

export interface RecogniserWorkerData {
  /** A folder of SoundSwallower's `model/`, e.g. `en-us`. */
  readonly locale: string;
}

export interface RecognitionRequest {
  readonly samples: Int16Array;
  readonly grammar: SpeechGrammar;
}

/** What the typings leave out: the decoder's own pointer and the C function that gives the score. */
interface DecoderModule {
  readonly HEAP32: Int32Array;
  _malloc(bytes: number): number;
  _decoder_hyp(decoder: number, scorePointer: number): number;
}

const { locale } = workerData as RecogniserWorkerData;
// It is joined to the model's name as it stands: without the slash nothing is found.
const modelBase = join(dirname(createRequire(import.meta.url).resolve('soundswallower')), 'model') + sep;
const phones = Object.keys(
  JSON.parse(readFileSync(join(modelBase, locale, 'phoneset.json'), 'utf8')) as Record<string, string>,
).filter((phone) => /^[A-Za-z]+$/.test(phone) && phone !== 'SIL');

/**
 * Search settings of the two passes; those of the first are the engine's own. Only against the French model's
 * phones no command wins unless every word, and so every phone of the loop, costs more.
 */
const WORD_PENALTY = locale === 'fr-fr' ? 0.01 : 0.65;
const COMMANDS = { lw: 6.5, wip: WORD_PENALTY, beam: 1e-48, wbeam: 7e-29, pbeam: 1e-48 } as const;
const FREE_LOOP = { lw: 1, wip: 1, beam: 1e-12, wbeam: 1e-8, pbeam: 1e-12 } as const;

/** Silences, fillers and empty transitions in an alignment. */
const NOT_A_WORD = /^[<([]/;

const FRAMES_PER_S = 100;

/** Silence around an utterance that is not held against it. */
const EDGES_S = 0.5;

/** Share of the rest that the words must cover. */
const MIN_COVERAGE = 0.5;

/** Least log likelihood ratio of words to free phones, for each 10 ms of words. */
const MIN_LIKELIHOOD_RATIO = -9;

class Listener {
  readonly #decoder: Decoder;
  readonly #module: DecoderModule;
  readonly #scorePointer: number;
  #loaded = '';

  private constructor(decoder: Decoder, module: DecoderModule) {
    this.#decoder = decoder;
    this.#module = module;
    this.#scorePointer = module._malloc(4);
    this.#configure(COMMANDS);
    decoder.add_words(...phones.map((phone): [string, string] => [phoneWord(phone), phone]));
  }

  static async open(): Promise<Listener> {
    const quiet = () => {};
    const options = { modelBase, defaultModel: locale, print: quiet, printErr: quiet };
    const module = await createModule(options);
    const decoder = new module.Decoder({ loglevel: 'FATAL', samprate: 16_000 });
    await decoder.initialize();
    return new Listener(decoder, module as typeof module & DecoderModule);
  }

  recognise({ samples, grammar }: RecognitionRequest): Recognition {
    this.#load(grammar);
    const floats = Float32Array.from(samples, (sample) => sample / 32768);
    const score = this.#decode(floats);
    const text = rejectPhones(this.#decoder.get_text());
    const ratio = text === null ? null : this.#likelihoodRatio(floats, score);
    if (text === null || ratio === null) return { text: null, score };
    return { text: ratio >= MIN_LIKELIHOOD_RATIO ? text : null, score, heard: { text, ratio } };
  }

  /** @returns the log probability of the best path */
  #decode(samples: Float32Array): number {
    this.#decoder.start();
    try {
      // The whole utterance at once, so that the spectral mean is its own and not the last caller's.
      this.#decoder.process_audio(samples, false, true);
    } finally {
      this.#decoder.stop();
    }
    const { cdecoder } = this.#decoder as Decoder & { readonly cdecoder: number };
    this.#module._decoder_hyp(cdecoder, this.#scorePointer);
    return this.#module.HEAP32[this.#scorePointer >> 2] ?? 0;
  }

  /**
   * The words must account for most of what was said, and must explain it about as well as free phones do. In
   * the first pass the loop of phones pays a penalty for each, so that commands win at all; some foreign
   * speech then wins with them.
   */
  #likelihoodRatio(samples: Float32Array, score: number): number | null {
    const words = this.#decoder.get_alignment().w?.filter(({ t }) => !NOT_A_WORD.test(t)) ?? [];
    const spokenS = words.reduce((sum, { d }) => sum + d, 0);
    if (spokenS < MIN_COVERAGE * (samples.length / 16_000 - EDGES_S)) return null;
    this.#configure(FREE_LOOP);
    this.#decoder.set_grammar(phoneLoopText(phones));
    this.#loaded = '';
    const free = this.#decode(samples);
    this.#configure(COMMANDS);
    return (score - free) / (spokenS * FRAMES_PER_S);
  }

  #configure(settings: Readonly<Record<string, number>>): void {
    for (const [key, value] of Object.entries(settings)) this.#decoder.set_config(key, value);
  }

  #load(grammar: SpeechGrammar): void {
    if (grammar.id === this.#loaded) return;
    for (const word of grammarWords(grammar)) {
      if (this.#decoder.lookup_word(word) !== null) continue;
      const pronunciation = grammar.pronunciations?.[word];
      if (pronunciation === undefined) {
        throw new VoiceError('PHRASE_INVALID', `“${word}” has no pronunciation in the ${locale} dictionary.`);
      }
      if (!pronunciation.split(' ').every((phone) => phones.includes(phone))) {
        throw new VoiceError('PHRASE_INVALID', `The pronunciation of “${word}” holds an unknown phone.`);
      }
      this.#decoder.add_words([word, pronunciation]);
    }
    try {
      this.#decoder.set_grammar(grammarText(grammar, phones));
    } catch (cause) {
      this.#loaded = '';
      if (isVoiceError(cause)) throw cause;
      throw new VoiceError('PHRASE_INVALID', 'The grammar of the phrases can’t be parsed.', { cause });
    }
    this.#loaded = grammar.id;
  }
}

const opening = Listener.open();

parentPort?.on('message', async ({ id, request }: JobMessage<RecognitionRequest>) => {
  const listener = await opening;
  try {
    const answer: JobAnswer<Recognition> = { id, response: listener.recognise(request) };
    parentPort?.postMessage(answer);
  } catch (error) {
    const answer: JobAnswer<never> = isVoiceError(error, 'PHRASE_INVALID')
      ? { id, error: error.message, code: 'PHRASE_INVALID' }
      : { id, error: 'The recogniser failed.', code: 'SPEECH_FAILED' };
    parentPort?.postMessage(answer);
  }
});
