/**
 * What the call asks of its model: the sequencer decides when, this does it. A full-duplex model is asked for
 * nothing: it decides by itself when it speaks, and what must be said is said with our own voice.
 *
 * @module
 */

import { type ResponseEffect, ResponseSequencer, type ResponseWish } from './responses.ts';
import type { Wiring } from './wiring.ts';

export class Requests {
  readonly #wiring: Wiring;
  readonly #sequencer: ResponseSequencer;

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
    if (!this.#wiring.isFullDuplex) this.#apply(this.#sequencer.request(wish, this.#wiring.now()));
    else if (wish.say !== undefined) void this.#wiring.verbatim.speak(wish.say);
  }

  /** Puts text into the conversation and has the model speak about it. */
  tell(role: 'user' | 'system', text: string): void {
    this.#wiring.link.model?.addContext(role, text);
    this.ask({ kind: 'continuation' });
  }

  /** While the caller has the floor nothing is asked for. */
  hold(): void {
    this.#sequencer.hold();
  }

  release(): void {
    this.#apply(this.#sequencer.release(this.#wiring.now()));
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
    this.#apply(this.#sequencer.tick(this.#wiring.now()));
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
