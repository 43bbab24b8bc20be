/**
 * What becomes of the agent's words once it is known how much of them was heard: the session's turn, the memory for
 * a new model session, the record.
 *
 * @module
 */

import type { ItemHearing } from './playback.ts';
import type { CutText } from './transcript.ts';
import type { Wiring } from './wiring.ts';

/** Asked for when an answer was not whole when a noise cut it off. */
const GO_ON =
  'A noise on the line cut you off in the middle of your answer. What you said so far was heard. Go on from there, ' +
  'without repeating it and without a word about the noise.';

export class Hearing {
  readonly #wiring: Wiring;
  /** The last item of a rest that has an end still to come. */
  #unfinished: string | null = null;

  constructor(wiring: Wiring) {
    this.#wiring = wiring;
  }

  /** This item is the rest of an answer that the model had not finished: once heard, it goes on. */
  goOnAfter(itemId: string): void {
    this.#unfinished = itemId;
  }

  /** An item is over. Returns its words, heard and not. */
  ended(hearing: ItemHearing): CutText {
    const { verbatim, words, log, floor, memory, notes, link, line, requests, now } = this.#wiring;
    const isOurs = hearing.source === 'verbatim';
    const text = isOurs ? verbatim.take(hearing) : words.take(hearing);
    const turn = isOurs ? log.current : log.turnOfResponse(hearing.responseId);
    floor.unprotect();
    this.#wiring.approvals.ended(hearing);
    if (!hearing.whole) line.show({ type: 'heard', itemId: hearing.itemId, text: text.heard });
    log.assistantText(turn, text.heard);
    memory.add('assistant', text.heard);
    notes.agentEnded(hearing, text.heard, turn, now());
    if (hearing.source !== 'resumed') return text;
    // The model knows its item as cut; what was heard after all is told to it as words of its own.
    if (text.heard !== '') link.model?.restore([{ role: 'assistant', text: text.heard }]);
    if (hearing.itemId === this.#unfinished) {
      this.#unfinished = null;
      if (hearing.whole) requests.ask({ kind: 'prompt', instructions: GO_ON });
    }
    return text;
  }
}
