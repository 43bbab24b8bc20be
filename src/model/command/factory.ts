/**
 * Sessions with the offline model.
 *
 * @module
 */

import { type AudioFormat, PCM16_8K, PCM16_16K, PCM16_24K, PCMU_8K } from '../../audio/index.ts';
import { type Clock, realClock } from '../../clock.ts';
import { type Logger, silentLogger } from '../../observe/index.ts';
import {
  createRecogniser,
  createSynthesiser,
  type EndpointerOptions,
  loadDictionary,
  type Recogniser,
  type Synthesiser,
} from '../../speech/index.ts';
import type { ModelCapabilities, RealtimeModelFactory } from '../contract.ts';
import { CommandModel } from './command-model.ts';
import { loadPhrases } from './phrase-file.ts';
import { loadCommandPrompts } from './prompts.ts';
import type { SlotValues } from './slots.ts';

const PCMA_8K: AudioFormat = { encoding: 'pcma', sampleRate: 8000 };

export interface CommandModelFactoryOptions {
  /** A folder of `assets/locales`. @defaultValue 'en-us' */
  readonly locale?: string;
  /** Path of a JSON file with more phrases. */
  readonly phrasesFile?: string | undefined;
  /** Shared with others; the factory makes (and closes) its own when left out. */
  readonly synthesiser?: Synthesiser;
  /** Shared with others; the factory makes (and closes) its own when left out. */
  readonly recogniser?: Recogniser;
  /** @defaultValue the machine's clock */
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Values of slots like `{file}`, asked for at each turn; without it, phrases with such slots are off. */
  readonly slotValues?: SlotValues | undefined;
  /** When speech counts as begun and as ended. */
  readonly endpointing?: EndpointerOptions;
  /**
   * Whether the caller's speech cancels the running response. Turn it off when another policy decides that.
   *
   * @defaultValue true
   */
  readonly interruptResponse?: boolean;
}

/**
 * @throws VoiceError `CONFIG_INVALID` for a locale that does not ship; `PHRASE_INVALID` for a phrase file that is
 *   not one, or that holds a word the recogniser doesn't know
 */
export function createCommandModelFactory(options: CommandModelFactoryOptions = {}): RealtimeModelFactory {
  const { locale = 'en-us', clock = realClock, logger = silentLogger } = options;
  const prompts = loadCommandPrompts(locale);
  const dictionary = loadDictionary(locale);
  const book = loadPhrases(dictionary, options.phrasesFile);
  const synthesiser = options.synthesiser ?? createSynthesiser({ locale });
  const recogniser = options.recogniser ?? createRecogniser({ locale });
  const capabilities: ModelCapabilities = {
    provider: 'command',
    inputFormats: [PCMU_8K, PCMA_8K, PCM16_16K, PCM16_24K, PCM16_8K],
    outputFormats: [PCMU_8K, PCMA_8K, PCM16_16K, PCM16_24K, PCM16_8K],
    canTruncate: true,
    canCancel: true,
    style: 'turns',
    interruptsItself: options.interruptResponse ?? true,
    maxSessionMs: null,
  };
  return {
    capabilities,
    description: `the offline model (${locale}: spoken commands, no network, no key)`,
    create: () =>
      new CommandModel({
        capabilities,
        book,
        prompts,
        dictionary,
        synthesiser,
        recogniser,
        clock,
        logger,
        slotValues: options.slotValues,
        endpointing: options.endpointing,
      }),
    warmUp: () => void dictionary.has(''),
    async close() {
      if (!options.synthesiser) await synthesiser.close();
      if (!options.recogniser) await recogniser.close();
    },
  };
}
