/**
 * What the call asks of its model: the sequencer decides when, this does it. A full-duplex model is asked for
 * nothing: it decides by itself when it speaks, and what must be said is said with our own voice.
 *
 * @module
 */

import { type ResponseEffect, ResponseSequencer, type ResponseWish } from './responses.ts';
import type { Wiring } from './wiring.ts';

/** Texts that wait for a session to be told to; beyond it the oldest is dropped and counted. */
export const MAX_UNTOLD_TEXTS = 16;

export class Requests {
  readonly #wiring: Wiring;
  readonly #sequencer: ResponseSequencer;
  /** What was to be told while there was no session: a result that came back between two, keys, typed words. */
  #untold: { role: 'user' | 'system'; text: string }[] = [];

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
    const { limits } = wiring.options.parts.config;
    this.#sequencer = new ResponseSequencer({ stallMs: limits.responseStallS * 1000 });
  }

  get isBusy(): boolean {
    return this.#sequencer.isBusy;
  }

  get activeResponseId(): string | null {
    return this.#sequencer.activeResponseId;
  }

  isCancelled(responseId: string): boolean {
    return this.#sequencer.isCancelled(responseId);
  }

  ask(wish: ResponseWish): void {
    this.#catchUp();
    // A request without a session would be lost; held, it waits for the next one.
    if (this.#wiring.link.model === null) this.#sequencer.hold();
    if (!this.#wiring.isFullDuplex) this.#apply(this.#sequencer.request(wish, this.#wiring.now()));
    else if (wish.say !== undefined) void this.#wiring.verbatim.speak(wish.say);
  }

  /** Puts text into the conversation and has the model speak about it. */
  tell(role: 'user' | 'system', text: string): void {
    this.#untold.push({ role, text });
    if (this.#wiring.link.model !== null) this.ask({ kind: 'continuation' });
    else if (this.#untold.length > MAX_UNTOLD_TEXTS) {
      this.#untold.shift();
      this.#wiring.notes.count('texts_dropped');
    }
  }

  /** While the caller has the floor nothing is asked for. */
  hold(): void {
    this.#sequencer.hold();
  }

  release(): void {
    if (this.#wiring.link.model !== null) this.#apply(this.#sequencer.release(this.#wiring.now()));
  }

  started(response: { responseId: string; requestId?: string }): void {
    this.#apply(this.#sequencer.started(response, this.#wiring.now()));
  }

  sign(responseId: string): void {
    this.#sequencer.sign(responseId, this.#wiring.now());
  }

  done(responseId: string): void {
    this.#apply(this.#sequencer.done(responseId, this.#wiring.now()));
  }

  refused(requestId: string, collision: boolean): void {
    this.#apply(this.#sequencer.refused(requestId, collision, this.#wiring.now()));
  }

  /** @param modelCancelsItself - the model has cancelled its response already */
  interrupt(modelCancelsItself: boolean): void {
    this.#apply(this.#sequencer.interrupt(modelCancelsItself));
  }

  /** What this response still sends is not for the caller. */
  discard(responseId: string): void {
    // A full-duplex model has one response for ever; what it says next is new.
    if (!this.#wiring.isFullDuplex) this.#sequencer.discard(responseId);
  }

  reset(): void {
    this.#sequencer.reset();
  }

  tick(): void {
    if (this.#wiring.link.model === null) return;
    if (this.#untold.length > 0) this.ask({ kind: 'continuation' });
    this.#apply(this.#sequencer.tick(this.#wiring.now()));
  }

  /** Tells the session what came up while there was none. */
  #catchUp(): void {
    const { model } = this.#wiring.link;
    if (model === null) return;
    for (const { role, text } of this.#untold.splice(0)) model.addContext(role, text);
  }

  #apply(effects: ResponseEffect[]): void {
    const { link, notes, verbatim, options, fault } = this.#wiring;
    for (const effect of effects) {
      const { model } = link;
      switch (effect.type) {
        case 'request': {
          const { kind: _, ...wish } = effect.wish;
          model?.requestResponse({ requestId: effect.requestId, ...wish });
          break;
        }
        case 'cancel':
          if (model?.capabilities.canCancel) model.cancelResponse();
          break;
        case 'stalled':
          fault('response_stalled');
          void verbatim.speak(options.parts.prompts.stalled);
          break;
        case 'dropped':
          notes.count('responses_dropped');
          break;
        default:
          effect satisfies never;
      }
    }
  }
}
