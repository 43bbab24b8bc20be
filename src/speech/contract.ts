/**
 * Offline speech: our own synthesiser (everything that must be said word for word), a grammar recogniser and
 * a voice activity detector. None of it needs a network or a key.
 *
 * @module
 */

/** Mono samples, -32768 to 32767. */
export interface SpeechAudio {
  readonly samples: Int16Array;
  readonly sampleRate: 16000;
}

export interface Synthesiser {
  /**
   * Says a text, word for word, outside the main thread.
   *
   * @throws VoiceError `SPEECH_FAILED`
   */
  synthesise(text: string, options?: { signal?: AbortSignal }): Promise<SpeechAudio>;
  close(): Promise<void>;
}

/** What an utterance was recognised as: the words between the competing phone loop's rejections, or nothing. */
export interface Recognition {
  /** The recognised words in lower case, or `null` when the phone loop won (it was none of the phrases). */
  readonly text: string | null;
  /** Recogniser's own log probability of the hypothesis; only comparable between runs on the same audio. */
  readonly score: number;
  /**
   * What won against the phone loop before it was compared with free phones, and how it compared: log likelihood ratio
   * for each 10 ms of words. Of a word as short as "no" the silence around it weighs most, and `text` stays `null`; only
   * where it does no harm to be wrong may this be taken instead.
   */
  readonly heard?: { readonly text: string; readonly ratio: number };
}

export interface Recogniser {
  /**
   * Recognises one utterance against a JSGF grammar, always in competition with a loop of single phones.
   *
   * @param samples - 16 kHz mono
   * @param grammarJsgf - body of the public rule, e.g. `what time is it | read [the] file <file>`; rules may follow
   * @throws VoiceError `SPEECH_FAILED`, `PHRASE_INVALID` (a word without a pronunciation)
   */
  recognise(samples: Int16Array, grammar: SpeechGrammar): Promise<Recognition>;
  close(): Promise<void>;
}

/** A grammar as the recogniser takes it. Equal `id` means equal content, so that a worker can keep it loaded. */
export interface SpeechGrammar {
  readonly id: string;
  /** Complete JSGF expression of the commands, without the phone loop, which the recogniser adds. */
  readonly expression: string;
  /** Extra named rules, name → JSGF expression. */
  readonly rules?: Readonly<Record<string, string>>;
  /** Pronunciations for words that the dictionary lacks, word → phones. */
  readonly pronunciations?: Readonly<Record<string, string>>;
}

export interface VoiceActivityDetector {
  /** Speech probability (0 to 1) of the next 512 samples at 16 kHz, each -1 to 1. */
  process(window: Float32Array): number;
  reset(): void;
}
