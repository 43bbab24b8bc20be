/**
 * The agent's side of the line: what is to be played goes through the pacer to the leg, and the ledger knows what
 * of it was heard.
 *
 * @module
 */

import {
  type AudioData,
  type AudioFormat,
  audioBytes,
  bytesPerMs,
  createTranscoder,
  Pacer,
  type Transcoder,
} from '../audio/index.ts';
import type { CallLeg, LegCapabilities } from '../leg/index.ts';
import { type ItemHearing, type ItemSource, PlaybackLedger } from './playback.ts';

/** Audio between two marks of one item. */
export const MARK_EVERY_MS = 200;

export interface OutputItem {
  readonly itemId: string;
  readonly source: ItemSource;
  readonly responseId: string;
}

export interface OutputListener {
  /** The first frame of an item left for the leg and starts to play at `playsAt`. */
  itemStarted(itemId: string, playsAt: number): void;
  /** An item was heard to its end. */
  itemHeard(hearing: ItemHearing): void;
  /** Frames as they are played, for a recording. */
  frame?(frame: Uint8Array, playsAt: number): void;
}

export class Output {
  readonly #capabilities: LegCapabilities;
  readonly #listener: OutputListener;
  readonly #ledger: PlaybackLedger;
  readonly #pacer: Pacer;
  readonly #bytesPerMs: number;
  readonly #started = new Set<string>();
  #leg: CallLeg | null = null;
  #transcoder: Transcoder | null = null;
  #transcodedItem: string | null = null;
  #unmarkedMs = 0;
  #playEnd = 0;

  constructor(capabilities: LegCapabilities, listener: OutputListener) {
    this.#capabilities = capabilities;
    this.#listener = listener;
    this.#ledger = new PlaybackLedger({ marks: capabilities.marks === 'echo' });
    this.#bytesPerMs = bytesPerMs(capabilities.output);
    this.#pacer = new Pacer({
      format: capabilities.output,
      frameBytes: capabilities.frameBytes,
      maxLeadMs: capabilities.maxLeadMs,
    });
  }

  get ledger(): PlaybackLedger {
    return this.#ledger;
  }

  /** Nothing waits, nothing is on its way, everything was heard. */
  isIdle(now: number): boolean {
    return this.#pacer.isEmpty && this.#ledger.isIdle(now);
  }

  attach(leg: CallLeg): void {
    this.#leg = leg;
  }

  /** Format of the model's audio from here on. */
  setModelFormat(format: AudioFormat): void {
    this.#transcoder?.close();
    this.#transcoder = createTranscoder(format, this.#capabilities.output);
  }

  /** Audio of a model item, in the model's format. Returns false when it had to be refused. */
  pushModel(item: OutputItem, audio: AudioData, now: number): boolean {
    if (!this.#transcoder) return false;
    if (this.#transcodedItem !== item.itemId) this.#finishTranscoding();
    this.#transcodedItem = item.itemId;
    return this.#push(item, audioBytes(this.#transcoder.process(audio)), now);
  }

  /** Audio that is in the leg's format already. */
  pushRaw(item: OutputItem, audio: Uint8Array, now: number): boolean {
    return this.#push(item, audio, now);
  }

  /** No more audio comes for this item. */
  end(itemId: string): void {
    if (this.#transcodedItem === itemId) this.#finishTranscoding();
    this.#ledger.completed(itemId);
    this.#pacer.end(itemId);
  }

  tick(now: number): void {
    const leg = this.#leg;
    if (!leg) return;
    for (const { itemId, frame, last } of this.#pacer.due(now)) {
      const frameMs = frame.byteLength / this.#bytesPerMs;
      const playsAt = Math.max(this.#playEnd, now);
      this.#playEnd = playsAt + frameMs;
      leg.send(itemId, frame);
      this.#ledger.sent(itemId, frameMs, now);
      this.#listener.frame?.(frame, playsAt);
      if (!this.#started.has(itemId)) {
        this.#started.add(itemId);
        this.#listener.itemStarted(itemId, playsAt);
      }
      this.#unmarkedMs += frameMs;
      if (last || this.#unmarkedMs >= MARK_EVERY_MS) this.#mark(leg, now);
    }
    for (const hearing of this.#ledger.settle(now)) this.#ended(hearing);
  }

  /** The leg confirmed a mark. */
  played(mark: string, now: number): void {
    this.#ledger.markPlayed(mark, now);
    for (const hearing of this.#ledger.settle(now)) this.#ended(hearing);
  }

  /** Stops sending, then clears the leg. Returns how every open item ended. */
  interrupt(now: number): ItemHearing[] {
    this.#pacer.clear();
    // What the resampler still holds belongs to the audio that was dropped.
    this.#transcoder?.flush();
    this.#transcodedItem = null;
    const ended = this.#ledger.interrupt(now);
    if (ended.length > 0) this.#leg?.clear();
    this.#unmarkedMs = 0;
    this.#playEnd = now;
    this.#started.clear();
    return ended;
  }

  close(): void {
    this.#pacer.clear();
    this.#transcoder?.close();
    this.#transcoder = null;
    this.#leg = null;
    this.#started.clear();
  }

  #push(item: OutputItem, audio: Uint8Array, now: number): boolean {
    if (audio.byteLength === 0) return true;
    if (!this.#pacer.push(item.itemId, audio)) return false;
    for (const hearing of this.#ledger.received(item, audio.byteLength / this.#bytesPerMs, now))
      this.#ended(hearing);
    return true;
  }

  #finishTranscoding(): void {
    const itemId = this.#transcodedItem;
    this.#transcodedItem = null;
    const rest = this.#transcoder?.flush();
    if (itemId === null || rest === undefined) return;
    const bytes = audioBytes(rest);
    // The resampler's tail makes an item no longer than it was received: the ledger does not count it.
    if (bytes.byteLength > 0) this.#pacer.push(itemId, bytes);
  }

  #mark(leg: CallLeg, now: number): void {
    this.#unmarkedMs = 0;
    const name = this.#ledger.mark(now);
    if (name !== null) leg.mark(name);
  }

  #ended(hearing: ItemHearing): void {
    this.#started.delete(hearing.itemId);
    this.#listener.itemHeard(hearing);
  }
}
