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
import { waitingTone } from './tone.ts';
import { type CutText, cutText } from './transcript.ts';

/** Texts that may wait to be synthesised. */
export const MAX_WAITING_TEXTS = 16;

/** A filler is of no use later: when it is cut off, it is not gone on with. */
export type VerbatimKind = 'message' | 'filler';

export interface VerbatimOptions {
  readonly synthesiser: Synthesiser;
  readonly output: Output;
  /** The leg's format. */
  readonly format: AudioFormat;
  readonly clock: Clock;
}

interface Said {
  readonly text: string;
  readonly kind: VerbatimKind;
}

export class Verbatim {
  readonly #options: VerbatimOptions;
  readonly #said = new Map<string, Said>();
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
  speak(text: string, kind: VerbatimKind = 'message'): Promise<boolean> {
    if (this.#waiting >= MAX_WAITING_TEXTS || this.#abort.signal.aborted) return Promise.resolve(false);
    this.#waiting++;
    const spoken = this.#queue.then(() => this.#make(text, kind)).finally(() => this.#waiting--);
    this.#queue = spoken;
    return spoken;
  }

  /** A filler; where there is no voice for it, a soft tone. */
  async fill(text: string): Promise<void> {
    const isSaid = await this.speak(text, 'filler');
    if (!isSaid && !this.#abort.signal.aborted) this.#put(waitingTone(this.#options.format), '', 'filler');
  }

  /** Audio of ours that is there already, e.g. the rest of a text that was cut off. */
  put(audio: Uint8Array, text: string): void {
    this.#put(audio, text, 'message');
  }

  /** What kind of text an item is; `null` for an item that is none of ours. */
  kindOf(itemId: string): VerbatimKind | null {
    return this.#said.get(itemId)?.kind ?? null;
  }

  /** What is said in an item of ours, while it is on the line; empty for a tone. */
  textOf(itemId: string): string {
    return this.#said.get(itemId)?.text ?? '';
  }

  /** The words of a text that has ended; it is forgotten. */
  take(hearing: ItemHearing): CutText {
    const text = this.#said.get(hearing.itemId)?.text ?? '';
    this.#said.delete(hearing.itemId);
    return cutText(text, hearing);
  }

  close(): void {
    this.#abort.abort();
    this.#said.clear();
  }

  async #make(text: string, kind: VerbatimKind): Promise<boolean> {
    const { synthesiser, format, clock } = this.#options;
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
      return this.#put(audio, text, kind);
    } catch {
      // Without a voice of our own there is nothing better to say it with; the caller of `speak` decides what then.
      return false;
    }
  }

  #put(audio: Uint8Array, text: string, kind: VerbatimKind): boolean {
    const { output, clock } = this.#options;
    const itemId = `verbatim_${++this.#count}`;
    this.#said.set(itemId, { text, kind });
    const item = { itemId, source: 'verbatim', responseId: itemId } as const;
    const queued = output.pushRaw(item, audio, clock.now());
    output.end(itemId);
    if (!queued) this.#said.delete(itemId);
    return queued;
  }
}
