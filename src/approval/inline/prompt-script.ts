/**
 * What is said and waited for while one request is asked: the PIN where it is needed, the prompt, one repetition, then
 * keypad and button alone. Leaves the request settled.
 *
 * @module
 */

import { delay } from '../../clock.ts';
import { spokenSummary } from '../summary.ts';
import type { AnswerDesk } from './answer-desk.ts';
import type { Asking } from './asking.ts';
import { drawChallenge, spokenDigits } from './challenge.ts';
import { fill, lineInputs, promptText } from './line-inputs.ts';
import type { LineOptions } from './line-options.ts';
import type { PersonOnLine } from './person-on-line.ts';

/** How long a person may take for a PIN. */
const PIN_TIMEOUT_MS = 30_000;
/** An answer that has begun is waited for, looked at so often. */
const ANSWER_POLL_MS = 250;

export class PromptScript {
  readonly #options: LineOptions;
  readonly #person: PersonOnLine;
  readonly #desk: AnswerDesk;

  constructor(options: LineOptions, person: PersonOnLine, desk: AnswerDesk) {
    this.#options = options;
    this.#person = person;
    this.#desk = desk;
  }

  async run(asking: Asking): Promise<void> {
    const { wording, approvals, clock, floor } = this.#options;
    const { inline } = this.#options.policy().config;
    const { record } = asking;
    const args = JSON.parse(record.args ?? '{}') as Record<string, unknown>;
    const summary = spokenSummary(record.tool, args, wording.dot);
    if (asking.stage === 'pin') {
      if (!(await this.#authenticate(asking, summary))) return;
      asking.stage = 'prompt';
    }
    asking.challenge = drawChallenge(summary, wording.digits, this.#options.random);
    this.#desk.listen(asking);
    const prompt = promptText(this.#options, record.tool, summary, asking.challenge);
    const until = () => asking.record.createdAt + inline.deadlineS * 1000;
    for (let said = 0; said <= inline.reprompts; said++) {
      const heard = await floor.say(said === 0 ? prompt : fill(wording.again, { prompt }));
      if (asking.isSettled) return;
      if (!heard) {
        asking.settle({ kind: 'unheard' });
        return;
      }
      if (said === 0) {
        const shown = await approvals.prompted(asking.record, clock.wallNow() + inline.timeoutS * 1000);
        // Decided, expired or shown elsewhere meanwhile: `changed` has said so.
        if (!shown || asking.isSettled) return;
        asking.record = shown;
      }
      asking.stage = 'listen';
      await this.#listenFor(asking, Math.min(inline.listenS * 1000, until() - clock.wallNow()));
      if (asking.isSettled) return;
      if (!lineInputs(this.#options, record.tool).includes('speech')) break;
      if (asking.record.expiresAt <= clock.wallNow()) break;
    }
    await this.#keysOnly(asking);
    asking.settle({ kind: 'unanswered' });
  }

  /** Speech is over; keypad and button have what is left of the time. */
  async #keysOnly(asking: Asking): Promise<void> {
    const { clock, wording, floor } = this.#options;
    const inputs = lineInputs(this.#options, asking.record.tool);
    asking.stage = 'keys';
    this.#desk.deafen();
    if (inputs.every((input) => input === 'speech')) return;
    if (inputs.includes('keypad') && inputs.includes('speech')) {
      const code = spokenDigits(asking.challenge, wording.digits);
      await floor.say(fill(wording.keysOnly, { code }));
    }
    const left = asking.record.expiresAt - clock.wallNow();
    if (left > 0 && !asking.isSettled) await this.#sleep(asking, left);
  }

  /** @returns whether the person is known now; if not, the request is settled */
  async #authenticate(asking: Asking, summary: string): Promise<boolean> {
    const { wording, clock, floor } = this.#options;
    const text = fill(wording.pin, { summary });
    for (let first = true; this.#person.hasTries; first = false) {
      const entered = new Promise<string | null>((resolve) => {
        asking.onPin = resolve;
      });
      const heard = await floor.say(first ? text : wording.pinAgain);
      if (asking.isSettled) return false;
      if (!heard) {
        asking.settle({ kind: 'unheard' });
        return false;
      }
      const timer = clock.setTimeout(() => asking.onPin?.(null), PIN_TIMEOUT_MS);
      const entry = await entered;
      timer.clear();
      asking.onPin = null;
      if (asking.isSettled) return false;
      if (entry === null) break;
      const isKnown = await this.#person.enter(entry);
      if (asking.isSettled) return false;
      if (isKnown) return true;
    }
    asking.settle({ kind: 'not_authenticated' });
    return false;
  }

  /** Until something was said that is no decision, or the time is over; never in the middle of somebody's answer. */
  async #listenFor(asking: Asking, ms: number): Promise<void> {
    const { clock } = this.#options;
    const none = new AbortController();
    asking.onNone = () => none.abort();
    const over = asking.end.then(() => none.abort());
    let left = ms;
    for (;;) {
      const timedOut = left > 0 ? await delay(clock, left, none.signal) : !none.signal.aborted;
      if (!timedOut || !this.#desk.isBusy) break;
      left = ANSWER_POLL_MS;
    }
    asking.onNone = null;
    if (asking.isSettled) await over;
  }

  async #sleep(asking: Asking, ms: number): Promise<void> {
    const stop = new AbortController();
    void asking.end.then(() => stop.abort());
    await delay(this.#options.clock, ms, stop.signal);
  }
}
