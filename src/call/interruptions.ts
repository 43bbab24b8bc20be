/**
 * The caller talks over the agent: everything stops, in one place and in one order. When it turns out that it was
 * a noise, the agent goes on where it was cut.
 *
 * @module
 */

import type { RealtimeModel } from '../model/index.ts';
import { FalseAlarms, isBackchannel } from './false-alarms.ts';
import type { Rest } from './output.ts';
import type { ItemHearing, ItemSource } from './playback.ts';
import type { Detector, FloorEffect, InterruptionSource } from './turns.ts';
import type { Wiring } from './wiring.ts';

/** Loudness of the agent while it is not clear whether the caller means to interrupt. */
export const DUCKED_GAIN = 0.3;

/** What was not heard of an item, with its words. */
interface CutItem extends Rest {
  readonly source: ItemSource;
  readonly responseId: string;
  readonly text: string;
}

interface CutAnswer {
  readonly items: readonly CutItem[];
  /** The model had more to say when it was cut. */
  readonly unfinished: boolean;
  /** The call was about to end after it. */
  readonly wasGoodbye: boolean;
}

export class Interruptions {
  readonly #wiring: Wiring;
  readonly #alarms: FalseAlarms;
  /** What goes on if it was a noise. */
  #cut: CutAnswer | null = null;
  /** Items that are being gone on with. */
  readonly #resumed = new Set<string>();
  #resumedCount = 0;
  /** Turns of the caller up to this one were before the sound that may be a noise. */
  #turnBefore = 0;
  /** The model's answer to a sound that did not count was turned down; if words come after all, it is owed. */
  #answerOwed = false;
  #isAnswered = false;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
    this.#alarms = new FalseAlarms(wiring.options.parts.config.interruption);
  }

  /** Something of the agent's is being heard, or is on its way. */
  get agentHasFloor(): boolean {
    const { requests, output, now } = this.#wiring;
    return requests.isBusy || !output.isIdle(now());
  }

  /** It is not known yet whether the agent goes on. */
  get isOpen(): boolean {
    return this.#alarms.isOpen;
  }

  /** The model has begun to answer what the caller interrupted with. */
  get isAnswered(): boolean {
    return this.#isAnswered;
  }

  speechStarted(source: Detector): void {
    const { floor, log, requests, now } = this.#wiring;
    if (!this.#alarms.isOpen && !floor.isUnconfirmed) this.#turnBefore = log.current;
    this.#alarms.speechStarted();
    this.#apply(floor.speechStarted(source, this.agentHasFloor, now()));
    requests.hold();
  }

  /** @param source - `null`: whatever heard the caller is gone */
  speechStopped(source: Detector | null): void {
    const { floor, now } = this.#wiring;
    this.#apply(floor.speechStopped(source, now()));
    if (!floor.callerSpeaks) this.#alarms.speechStopped(now());
  }

  digit(): void {
    const { floor, now } = this.#wiring;
    this.#apply(floor.digit(this.agentHasFloor, now()));
    this.#answered();
  }

  /** The caller wrote something. */
  typed(): void {
    this.#answered();
    if (this.agentHasFloor) this.interrupt('digit');
  }

  /** What was understood of the caller; an empty text when nothing was. */
  words(itemId: string, text: string, final: boolean): void {
    const { log, floor, requests, options, now } = this.#wiring;
    // The words of an earlier turn may come late; they say nothing about the sound of now.
    if (log.knowsItem(itemId) && log.turnOfItem(itemId) <= this.#turnBefore) return;
    if (isBackchannel(text, options.parts.prompts.murmurs)) {
      if (final) this.#alarms.nothingSaid(now());
      return;
    }
    // A response of ours in the way keeps the model from answering by itself.
    let isOwed = this.#answerOwed;
    if (this.#resumed.size > 0) {
      isOwed ||= requests.isBusy;
      this.interrupt('local');
    }
    this.#apply(floor.words(this.agentHasFloor));
    this.#answered();
    if (isOwed) requests.ask({ kind: 'refresh' });
  }

  /** The model answers by itself. Returns false when the answer is to a sound that did not count. */
  modelAnswers(): boolean {
    const { floor, output, now } = this.#wiring;
    if (floor.isUnconfirmed && !output.isIdle(now()) && this.#resumed.size === 0) {
      this.#answerOwed = true;
      return false;
    }
    if (this.#resumed.size > 0) this.interrupt('model', { cancel: false });
    this.#answered();
    this.#isAnswered = true;
    return true;
  }

  /**
   * Stop sending, clear the leg, cancel, truncate: in this order, and only here.
   *
   * @param options.cancel - `false`: the response that is beginning is the answer to the caller
   * @param options.isDecided - it is no question of a noise: nothing goes on by itself
   */
  interrupt(
    source: InterruptionSource,
    { cancel = true, isDecided = false }: { cancel?: boolean; isDecided?: boolean } = {},
  ): void {
    const { output, requests, floor, link, line, notes, recording, hearing, hangup, tools, session } =
      this.#wiring;
    const now = this.#wiring.now();
    this.#isAnswered = false;
    const wasBusy = requests.isBusy;
    const { model } = link;
    const isHeard = source === 'model' || source === 'local';
    const mayBeNoise = isHeard && !isDecided && this.#isWorthKeeping();
    const { ended, rests } = output.interrupt(now, (item) => mayBeNoise && this.#isResumable(item));
    recording?.cut(notes.at(now));
    line.setGain(1);
    if (cancel) requests.interrupt(source === 'model' && (model?.capabilities.interruptsItself ?? false));
    const cut = ended.filter((each) => !each.whole);
    for (const each of cut) if (each.source === 'model') this.#takeBack(each, model);
    session.forgetItems();
    this.#resumed.clear();
    if (cut[0]) notes.interrupted(cut[0], source, now);
    const texts = new Map(ended.map((each) => [each.itemId, { ...each, text: hearing.ended(each).rest }]));
    // A filler that is talked over does not touch the tool behind it.
    if (wasBusy || cut.some((each) => each.source !== 'verbatim')) tools.interrupted();
    const wasGoodbye = hangup.takeBack();
    const items = rests.flatMap((rest): CutItem[] => {
      const item = texts.get(rest.itemId);
      return item && rest.audio.byteLength > 0 ? [{ ...item, ...rest }] : [];
    });
    this.#cut = items.length === 0 ? null : { items, unfinished: items.some(isUnfinished), wasGoodbye };
    if (this.#cut) this.#alarms.interrupted(floor.callerSpeaks, now);
  }

  tick(now: number): void {
    const { floor } = this.#wiring;
    this.#apply(floor.tick(this.agentHasFloor, now));
    if (this.#alarms.tick(now)) this.#resume(now);
  }

  /** The call is over. */
  close(): void {
    this.#cut = null;
    this.#resumed.clear();
  }

  /** An item that was gone on with is over. */
  itemEnded(itemId: string): void {
    this.#resumed.delete(itemId);
  }

  /** The caller, or the model for them, has said what it was: nothing goes on. */
  #answered(): void {
    this.#alarms.confirmed();
    this.#cut = null;
    this.#answerOwed = false;
  }

  #isWorthKeeping(): boolean {
    const { isFullDuplex, hangup } = this.#wiring;
    return this.#alarms.isWorthKeeping && !isFullDuplex && hangup.phase !== 'ended';
  }

  #isResumable({ itemId, source }: { itemId: string; source: ItemSource }): boolean {
    return source !== 'verbatim' || this.#wiring.verbatim.kindOf(itemId) === 'message';
  }

  /** It was a noise: what was cut is said from there on. */
  #resume(now: number): void {
    const { output, words, verbatim, requests, hearing, notes, hangup, session } = this.#wiring;
    const cut = this.#cut;
    this.#cut = null;
    if (!cut || this.agentHasFloor || hangup.phase !== 'live') return;
    session.nothingToAnswer();
    let restMs = 0;
    for (const { source, responseId, text, audio } of cut.items) {
      restMs += output.durationOf(audio);
      if (source === 'verbatim') {
        verbatim.put(audio, text);
        continue;
      }
      const itemId = `resumed_${++this.#resumedCount}`;
      this.#resumed.add(itemId);
      words.add(itemId, text, true);
      output.pushRaw({ itemId, source: 'resumed', responseId }, audio, now);
      output.end(itemId);
      if (cut.unfinished) hearing.goOnAfter(itemId);
    }
    if (cut.wasGoodbye) hangup.plan('agent_hangup', { final: false, spoken: true }, now);
    notes.resumed(restMs, now);
    requests.release();
  }

  /** Tells the model what of an item was not heard. */
  #takeBack(cut: ItemHearing, model: RealtimeModel | null): void {
    const { requests, session } = this.#wiring;
    requests.discard(cut.responseId);
    if (!model?.capabilities.canTruncate || !session.hasItem(cut.itemId)) return;
    if (cut.heardMs > 0) model.truncate(cut.itemId, cut.heardMs);
    else model.deleteItem(cut.itemId);
  }

  #apply(effects: FloorEffect[]): void {
    for (const effect of effects) {
      switch (effect.type) {
        case 'interrupt':
          this.interrupt(effect.source);
          break;
        case 'duck':
          this.#wiring.line.setGain(DUCKED_GAIN);
          break;
        case 'unduck':
          this.#wiring.line.setGain(1);
          break;
        default:
          effect satisfies never;
      }
    }
  }
}

/** Only the model's own words can be unfinished; a text of ours is made as a whole. */
function isUnfinished({ source, complete }: CutItem): boolean {
  return source !== 'verbatim' && !complete;
}
