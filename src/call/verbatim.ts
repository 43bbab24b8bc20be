/**
 * What must be heard word for word: our own synthesiser, never the model. Texts are said in the order in which they
 * were asked for, behind what is being said.
 *
 * @module
 */

import { type AudioFormat, audioBytes, createTranscoder, PCM16_16K, samplesToPcm16 } from '../audio/index.ts';
import type { Clock } from '../clock.ts';
import type { Synthesiser } from '../speech/index.ts';
import type { Output } from './output.ts';
import type { ItemHearing } from './playback.ts';
import { heardWords } from './transcript.ts';

/** Texts that may wait to be synthesised. */
export const MAX_WAITING_TEXTS = 16;

export interface VerbatimOptions {
  readonly synthesiser: Synthesiser;
  readonly output: Output;
  /** The leg's format. */
  readonly format: AudioFormat;
  readonly clock: Clock;
}

export class Verbatim {
  readonly #options: VerbatimOptions;
  readonly #texts = new Map<string, string>();
  readonly #abort = new AbortController();
  #queue: Promise<unknown> = Promise.resolve();
  #waiting = 0;
  #count = 0;

  constructor(options: VerbatimOptions) {
    this.#options = options;
  }

  /** A text is being made and is not on its way to the line yet. */
  get isBusy(): boolean {
    return this.#waiting > 0;
  }

  /** Resolves once the text is on its way to the line; `false` when it could not be made or the call ended. */
  speak(text: string): Promise<boolean> {
    if (this.#waiting >= MAX_WAITING_TEXTS || this.#abort.signal.aborted) return Promise.resolve(false);
    this.#waiting++;
    const spoken = this.#queue.then(() => this.#make(text)).finally(() => this.#waiting--);
    this.#queue = spoken;
    return spoken;
  }

  /** The heard words of a text; it is forgotten. */
  words(hearing: ItemHearing): string {
    const text = this.#texts.get(hearing.itemId) ?? '';
    this.#texts.delete(hearing.itemId);
    return hearing.whole ? text : heardWords(text, hearing.heardMs, hearing.receivedMs);
  }

  close(): void {
    this.#abort.abort();
    this.#texts.clear();
  }

  async #make(text: string): Promise<boolean> {
    const { synthesiser, output, format, clock } = this.#options;
    const { signal } = this.#abort;
    if (signal.aborted) return false;
    try {
      const { samples } = await clock.track(synthesiser.synthesise(text, { signal }));
      if (signal.aborted) return false;
      const transcoder = createTranscoder(PCM16_16K, format);
      const audio = Buffer.concat([
        audioBytes(transcoder.process(samplesToPcm16(samples))),
        transcoder.flush(),
      ]);
      transcoder.close();
      const itemId = `verbatim_${++this.#count}`;
      this.#texts.set(itemId, text);
      const now = clock.now();
      const item = { itemId, source: 'verbatim', responseId: itemId } as const;
      const queued = output.pushRaw(item, audio, now);
      output.end(itemId);
      return queued;
    } catch {
      // Without a voice of our own there is nothing better to say it with; the caller of `speak` decides what then.
      return false;
    }
  }
}
