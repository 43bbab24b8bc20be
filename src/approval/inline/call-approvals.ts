/**
 * The conductor of one call's approvals: one prompt has the floor, the others wait. What is said is said by our own voice,
 * what is answered is heard by our own recogniser and our own keypad reader; the model takes no part in it.
 *
 * @module
 */

import type { AudioData } from '../../audio/index.ts';
import { isVoiceError } from '../../errors.ts';
import type { ApprovalRow } from '../../store/index.ts';
import { AnswerDesk } from './answer-desk.ts';
import { Asking, type Waiting } from './asking.ts';
import { Conclusion } from './conclusion.ts';
import type { ApprovalFloor, FloorLine } from './floor.ts';
import { lineInputs } from './line-inputs.ts';
import type { LineOptions } from './line-options.ts';
import { PersonOnLine } from './person-on-line.ts';
import { PromptScript } from './prompt-script.ts';

/** Requests of one call that may wait for the floor. */
export const MAX_QUEUED_PROMPTS = 8;
/** The floor is taken by then, quiet or not. */
export const MAX_WAIT_FOR_QUIET_MS = 10_000;
/** It must have been quiet for so long: the model may be about to begin. */
const QUIET_FOR_MS = 400;

export class CallApprovals implements FloorLine {
  readonly #options: LineOptions;
  readonly #person: PersonOnLine;
  readonly #desk: AnswerDesk;
  readonly #script: PromptScript;
  readonly #conclusion: Conclusion;
  readonly #queue: Waiting[] = [];
  readonly #stopListening: () => void;
  #asking: Asking | null = null;
  #waitingSince = 0;
  #quietSince: number | null = null;
  #closed = false;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#person = new PersonOnLine(options);
    this.#desk = new AnswerDesk(options);
    this.#script = new PromptScript(options, this.#person, this.#desk);
    this.#conclusion = new Conclusion(options, this.#person, async (text) => {
      if (!this.#closed) await this.floor.say(text);
    });
    const stops = (['changed', 'changedElsewhere'] as const).map((event) =>
      options.approvals.on(event, (record) => this.#onChanged(record)),
    );
    this.#stopListening = () => {
      for (const stop of stops) stop();
    };
  }

  get floor(): ApprovalFloor {
    return this.#options.floor;
  }

  /** The person on the line, once they are authenticated. */
  get person(): string | null {
    return this.#person.name;
  }

  get isAsking(): boolean {
    return this.#asking !== null || this.#queue.length > 0;
  }

  /** Whether somebody here may decide about this tool, or can still show that they may, by a means the tool accepts. */
  async canAsk(tool: string): Promise<boolean> {
    return this.#isAskable(tool) && (this.#person.isApprover() || (await this.#person.canShow()));
  }

  /** Puts a request in line for the floor; false when it can't be asked here. */
  ask(record: ApprovalRow, wasDeferred = false): boolean {
    const known =
      this.#asking?.record.id === record.id || this.#queue.some((each) => each.record.id === record.id);
    if (known) return true;
    if (this.#queue.length >= MAX_QUEUED_PROMPTS || !this.#isAskable(record.tool)) return false;
    if (!this.#person.isApprover() && !this.#person.hasTries) return false;
    if (!this.isAsking) this.#waitFromNow();
    this.#queue.push({ record, wasDeferred });
    return true;
  }

  audio(audio: AudioData): boolean {
    if (!this.#asking) return false;
    this.#desk.audio(audio);
    return true;
  }

  digit(digit: string): boolean {
    if (!this.#asking) return false;
    this.#desk.digit(digit);
    // While a prompt has the floor no key is the model's.
    return true;
  }

  text(text: string): boolean {
    return this.#desk.text(text);
  }

  tick(now: number): void {
    if (this.#asking) {
      this.#desk.tick(now);
      return;
    }
    if (this.#queue.length === 0 || this.#closed) return;
    if (!this.floor.isQuiet()) this.#quietSince = null;
    else this.#quietSince ??= now;
    const quiet = this.#quietSince !== null && now - this.#quietSince >= QUIET_FOR_MS;
    if (quiet || now - this.#waitingSince >= MAX_WAIT_FOR_QUIET_MS) this.#next();
  }

  reconnected(): void {
    this.#asking?.settle({ kind: 'again' });
  }

  hungUp(lost: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopListening();
    const open: Waiting[] = [...(this.#asking ? [this.#asking] : []), ...this.#queue.splice(0)];
    this.#asking?.settle({ kind: 'gone' });
    for (const waiting of open) this.#inBackground(this.#conclusion.leave(waiting, lost));
    // A grant for the call ends with it.
    const at = this.#options.clock.wallNow();
    const which = { scope: 'call', scopeKey: this.floor.callId } as const;
    this.#inBackground(this.#options.approvals.store.revokeGrants(which, at));
  }

  #isAskable(tool: string): boolean {
    // Whoever is on the line is who asked.
    if (this.#closed || this.#options.policy().config.separateRequester) return false;
    return lineInputs(this.#options, tool).length > 0;
  }

  #next(): void {
    const waiting = this.#queue.shift();
    if (!waiting) return;
    const stage = this.#person.isApprover() ? 'prompt' : 'pin';
    const asking = new Asking(waiting, stage, () => this.floor.hush());
    this.#asking = asking;
    this.#desk.open(asking);
    this.floor.take();
    this.#inBackground(this.#conduct(asking));
  }

  /** From the first word to the last; whatever happens, the floor is given back. */
  async #conduct(asking: Asking): Promise<void> {
    try {
      this.#script.run(asking).catch((error: unknown) => {
        const code = isVoiceError(error) ? error.code : null;
        this.#options.logger.warn({ code }, 'an approval could not be asked');
        asking.settle({ kind: 'unheard' });
      });
      const end = await asking.end;
      asking.stage = 'over';
      const again = await this.#conclusion.conclude(asking, end);
      if (again && !this.#closed) this.#queue.unshift(again);
    } finally {
      const kept = this.#desk.close();
      this.#asking = null;
      this.#waitFromNow();
      if (!this.#closed) this.floor.release(kept);
    }
  }

  #onChanged(record: ApprovalRow): void {
    if (record.status === 'pending') return;
    const at = this.#queue.findIndex((each) => each.record.id === record.id);
    if (at >= 0) this.#queue.splice(at, 1);
    if (this.#asking?.record.id === record.id) this.#asking.settle({ kind: 'elsewhere', record });
  }

  #waitFromNow(): void {
    this.#waitingSince = this.#options.clock.now();
    this.#quietSince = null;
  }

  #inBackground(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      const code = isVoiceError(error) ? error.code : null;
      this.#options.logger.error({ code }, 'an approval could not be conducted');
    });
  }
}
