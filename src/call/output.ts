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
  type DueFrame,
  Pacer,
  type Transcoder,
} from '../audio/index.ts';
import type { CallLeg, LegCapabilities } from '../leg/index.ts';
import { type ItemHearing, type ItemSource, PlaybackLedger } from './playback.ts';
import { SentFrames } from './sent-frames.ts';

/** Audio between two marks of one item. */
export const MARK_EVERY_MS = 200;
/** Of an interrupted answer, so much is kept to go on with. */
export const MAX_REST_MS = 60_000;
/** A rest begins so long before where it was cut: the noise that cut it covered the last words. */
export const REST_OVERLAP_MS = 240;

export interface OutputItem {
  readonly itemId: string;
  readonly source: ItemSource;
  readonly responseId: string;
}

/** What was not heard of an item, in the leg's format. */
export interface Rest {
  readonly itemId: string;
  readonly audio: Uint8Array;
  /** Nothing is missing at its end. */
  readonly complete: boolean;
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
  readonly #sent: SentFrames;
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
    this.#sent = new SentFrames(capabilities.frameBytes / this.#bytesPerMs, capabilities.frameBytes);
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

  /** The leg is gone: what it had not played waits for the next one, in front of what waits already. */
  detach(now: number): void {
    this.#leg = null;
    const complete = this.#ledger.open(now).filter((item) => item.complete);
    this.#ledger.rewind(now, (itemId, heardMs) => this.#sent.startOf(itemId, heardMs));
    this.#pacer.putBack(this.#sent.takeBack());
    for (const { itemId } of complete) this.#pacer.end(itemId);
    this.#unmarkedMs = 0;
    this.#playEnd = now;
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
    const converted = this.#transcoder.process(audio);
    return this.#push(item, audioBytes(converted), now, converted);
  }

  /** Audio that is in the leg's format already. */
  pushRaw(item: OutputItem, audio: Uint8Array, now: number): boolean {
    return this.#push(item, audio, now);
  }

  /** Length of audio in the leg's format, in ms. */
  durationOf(audio: Uint8Array): number {
    return audio.byteLength / this.#bytesPerMs;
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
    this.#letGo(leg, now);
    for (const hearing of this.#ledger.settle(now)) this.#ended(hearing);
  }

  #letGo(leg: CallLeg, now: number): void {
    for (let paced = this.#pacer.next(now); paced !== null; paced = this.#pacer.next(now))
      this.#send(leg, paced, now);
  }

  #send(leg: CallLeg, paced: DueFrame, now: number): void {
    const { itemId, frame, audio, last } = paced;
    const frameMs = frame.byteLength / this.#bytesPerMs;
    const playsAt = Math.max(this.#playEnd, now);
    this.#playEnd = playsAt + frameMs;
    leg.send(itemId, audio);
    if (this.#sent.isFull) this.#forgetHeard(now);
    this.#sent.add(paced, this.#ledger.sent(itemId, frameMs, now));
    this.#listener.frame?.(frame, playsAt);
    if (!this.#started.has(itemId)) {
      this.#started.add(itemId);
      this.#listener.itemStarted(itemId, playsAt);
    }
    this.#unmarkedMs += frameMs;
    if (last || this.#unmarkedMs >= MARK_EVERY_MS) this.#mark(leg, now);
  }

  /** What was heard is sent again only as the words before a cut. */
  #forgetHeard(now: number): void {
    const unheardMs = this.#ledger.playoutEndsAt(now) - now + REST_OVERLAP_MS;
    this.#sent.keep(Math.ceil((unheardMs * this.#bytesPerMs) / this.#capabilities.frameBytes) + 1);
  }

  /** The leg confirmed a mark. */
  played(mark: string, now: number): void {
    this.#ledger.markPlayed(mark, now);
    for (const hearing of this.#ledger.settle(now)) this.#ended(hearing);
  }

  /**
   * Stops sending, then clears the leg. Returns how every open item ended, and what was not heard of those that
   * `keep` picks, as far as the bound allows.
   */
  interrupt(
    now: number,
    keep: (item: { itemId: string; source: ItemSource }) => boolean = () => false,
  ): {
    ended: ItemHearing[];
    rests: Rest[];
  } {
    const kept = this.#ledger.open(now).filter(keep);
    const waiting = this.#pacer.drain();
    // What the resampler still holds belongs to the audio that was dropped.
    this.#transcoder?.flush();
    this.#transcodedItem = null;
    const ended = this.#ledger.interrupt(now);
    if (ended.length > 0) this.#leg?.clear();
    let room = MAX_REST_MS * this.#bytesPerMs;
    const rests = kept.map(({ itemId, heardMs, complete }): Rest => {
      const sent = this.#sent.from(itemId, Math.max(0, heardMs - REST_OVERLAP_MS));
      const chunks = waiting.flatMap((entry) => (entry.itemId === itemId ? entry.chunks : []));
      const all = Buffer.concat([...sent, ...chunks]);
      const audio = all.subarray(0, room);
      room -= audio.byteLength;
      return { itemId, audio, complete: complete && audio.byteLength === all.byteLength };
    });
    this.#sent.clear();
    this.#unmarkedMs = 0;
    this.#playEnd = now;
    this.#started.clear();
    return { ended, rests };
  }

  close(): void {
    this.#pacer.clear();
    this.#sent.clear();
    this.#transcoder?.close();
    this.#transcoder = null;
    this.#leg = null;
    this.#started.clear();
  }

  #push(item: OutputItem, bytes: Uint8Array, now: number, audio: AudioData = bytes): boolean {
    if (bytes.byteLength === 0) return true;
    const leg = this.#leg;
    const passed = leg && this.#pacer.pass(item.itemId, bytes, audio, now);
    if (!passed && !this.#pacer.push(item.itemId, bytes, audio)) return false;
    for (const hearing of this.#ledger.received(item, bytes.byteLength / this.#bytesPerMs, now))
      this.#ended(hearing);
    // What the leg has room for does not wait for the next tick.
    if (passed) this.#send(leg, passed, now);
    else if (leg) this.#letGo(leg, now);
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
