/**
 * The conductor of one call's approvals: one prompt has the floor, the others wait. What is said is said by our own voice,
 * what is answered is heard by our own recogniser and our own keypad reader; the model takes no part in it.
 *
 * @module
 */

import { type AudioData, audioDurationMs, bytesPerMs, silence } from '../../audio/index.ts';
import { type Clock, delay } from '../../clock.ts';
import { isVoiceError } from '../../errors.ts';
import type { Logger } from '../../observe/index.ts';
import type { Recogniser } from '../../speech/index.ts';
import type { ApprovalRow } from '../../store/index.ts';
import type { Approvals, DecisionInput } from '../approvals.ts';
import { isAtLeastInput, type Policy } from '../policy.ts';
import { spokenSummary } from '../summary.ts';
import { type Answer, answerGrammar, readAnswer, spokenAnswer } from './answers.ts';
import { CHALLENGE_DIGITS, drawChallenge, MAX_WRONG_ENTRIES, matchKeys, spokenDigits } from './challenge.ts';
import { AnswerEar, MAX_ANSWER_MS, type Utterance } from './ear.ts';
import type { ApprovalFloor, FloorLine } from './floor.ts';
import { KeyEntry } from './key-entry.ts';
import { MAX_PIN_TRIES, type PinGuard } from './pins.ts';
import type { Wording } from './wording.ts';

/** Requests of one call that may wait for the floor. */
export const MAX_QUEUED_PROMPTS = 8;
/** An utterance counts only if nothing of ours was audible in it and for so long before. */
export const QUIET_BEFORE_MS = 700;
/** The floor is taken by then, quiet or not. */
export const MAX_WAIT_FOR_QUIET_MS = 10_000;
/** It must have been quiet for so long: the model may be about to begin. */
const QUIET_FOR_MS = 400;
/** Audio of the caller's that was no decision and is kept for the model, at most. */
export const MAX_KEPT_MS = 15_000;
/** Behind each kept utterance, so that the model hears where it ends. */
const KEPT_GAP_MS = 700;
/** How long a person may take for a PIN. */
const PIN_TIMEOUT_MS = 30_000;
const MAX_PIN_DIGITS = 12;

export interface CallApprovalsOptions {
  readonly floor: ApprovalFloor;
  readonly approvals: Approvals;
  readonly policy: () => Policy;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly wording: Wording;
  readonly locale: string;
  /** `null` where the locale has none: then speech never decides. */
  readonly recogniser: Recogniser | null;
  readonly pins: PinGuard;
  /** Draws digits; for tests. */
  readonly random?: (below: number) => number;
}

interface Waiting {
  record: ApprovalRow;
  /** It waited elsewhere before this call came: unanswered, it goes on waiting there. */
  readonly wasDeferred: boolean;
}

/** How the asking of one request came to its end. */
type End =
  | {
      readonly kind: 'decided';
      readonly approve: boolean;
      readonly input: DecisionInput;
      readonly scope: 'once' | 'call';
      readonly why?: 'wrong_code';
    }
  | { readonly kind: 'elsewhere'; readonly record: ApprovalRow }
  | { readonly kind: 'unanswered' }
  | { readonly kind: 'unheard' }
  | { readonly kind: 'not_authenticated' }
  | { readonly kind: 'again' }
  | { readonly kind: 'gone' };

interface Asking extends Waiting {
  challenge: string;
  stage: 'pin' | 'prompt' | 'listen' | 'keys' | 'over';
  readonly keys: KeyEntry;
  readonly pinKeys: KeyEntry;
  wrong: number;
  /** Settles when the request's asking is over, however. */
  readonly end: PromiseWithResolvers<End>;
  settled: boolean;
  /** What was said and was no decision: wakes the conductor for the repetition. */
  onNone: (() => void) | null;
  onPin: ((entry: string | null) => void) | null;
}

export class CallApprovals implements FloorLine {
  readonly #options: CallApprovalsOptions;
  readonly #queue: Waiting[] = [];
  readonly #stopListening: () => void;
  #asking: Asking | null = null;
  #ear: AnswerEar | null = null;
  #kept: AudioData[] = [];
  #keptMs = 0;
  #recognising = 0;
  #person: string | null;
  #pinTries = 0;
  #waitingSince = 0;
  #quietSince: number | null = null;
  #closed = false;

  constructor(options: CallApprovalsOptions) {
    this.#options = options;
    const { strength, id } = options.floor.caller;
    this.#person = strength === 'authenticated' ? id : null;
    this.#stopListening = options.approvals.on('changed', (record) => this.#onChanged(record));
  }

  get floor(): ApprovalFloor {
    return this.#options.floor;
  }

  /** The person on the line, once they are authenticated. */
  get person(): string | null {
    return this.#person;
  }

  get isAsking(): boolean {
    return this.#asking !== null || this.#queue.length > 0;
  }

  /** Whether somebody here may decide about this tool, or can still show that they may, by a means the tool accepts. */
  canAsk(tool: string): boolean {
    const { floor, pins, clock } = this.#options;
    const policy = this.#options.policy();
    const { approvers, separateRequester } = policy.config;
    // Whoever is on the line is who asked.
    if (this.#closed || separateRequester) return false;
    if (this.#inputs(tool).length === 0) return false;
    if (this.#isApprover(policy)) return true;
    const hasPins = approvers.some(({ pin }) => pin !== undefined);
    return (
      floor.keys && hasPins && this.#pinTries < MAX_PIN_TRIES && pins.isOpen(floor.caller.id, clock.now())
    );
  }

  /** Puts a request in line for the floor; false when it can't be asked here. */
  ask(record: ApprovalRow, wasDeferred = false): boolean {
    const known =
      this.#asking?.record.id === record.id || this.#queue.some((each) => each.record.id === record.id);
    if (known) return true;
    if (this.#closed || this.#queue.length >= MAX_QUEUED_PROMPTS || !this.canAsk(record.tool)) return false;
    if (!this.isAsking) this.#waitFromNow();
    this.#queue.push({ record, wasDeferred });
    return true;
  }

  audio(audio: AudioData): boolean {
    if (!this.#asking) return false;
    this.#ear?.hear(audio, this.#options.clock.now());
    return true;
  }

  digit(digit: string): boolean {
    const asking = this.#asking;
    if (!asking) return false;
    const now = this.#options.clock.now();
    if (asking.stage === 'pin') this.#pinEntry(asking, asking.pinKeys.push(digit, now));
    else if (asking.stage !== 'over' && this.#mayKey(asking))
      this.#keyEntry(asking, asking.keys.push(digit, now));
    // While a prompt has the floor no key is the model's.
    return true;
  }

  text(text: string): boolean {
    const asking = this.#asking;
    if (!asking || asking.stage === 'pin' || asking.stage === 'over') return false;
    if (!this.#inputs(asking.record.tool).includes('speech')) return false;
    return this.#answered(asking, readAnswer(text, asking.challenge, this.#options.wording), 'speech');
  }

  tick(now: number): void {
    const asking = this.#asking;
    if (asking) {
      this.#pinEntry(asking, asking.pinKeys.tick(now));
      this.#keyEntry(asking, asking.keys.tick(now));
      return;
    }
    if (this.#queue.length === 0 || this.#closed) return;
    if (!this.floor.isQuiet()) this.#quietSince = null;
    else this.#quietSince ??= now;
    const quiet = this.#quietSince !== null && now - this.#quietSince >= QUIET_FOR_MS;
    if (quiet || now - this.#waitingSince >= MAX_WAIT_FOR_QUIET_MS) this.#next();
  }

  reconnected(): void {
    const asking = this.#asking;
    if (asking) this.#settle(asking, { kind: 'again' });
  }

  hungUp(lost: boolean): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopListening();
    const open: Waiting[] = [...(this.#asking ? [this.#asking] : []), ...this.#queue.splice(0)];
    if (this.#asking) this.#settle(this.#asking, { kind: 'gone' });
    for (const waiting of open) this.#inBackground(this.#leave(waiting, lost));
    // A grant for the call ends with it.
    const at = this.#options.clock.wallNow();
    const which = { scope: 'call', scopeKey: this.floor.callId } as const;
    this.#inBackground(this.#options.approvals.store.revokeGrants(which, at));
  }

  // ---- one request

  #next(): void {
    const waiting = this.#queue.shift();
    if (!waiting) return;
    const asking: Asking = {
      ...waiting,
      challenge: '',
      stage: this.#isApprover(this.#options.policy()) ? 'prompt' : 'pin',
      keys: new KeyEntry(CHALLENGE_DIGITS),
      pinKeys: new KeyEntry(MAX_PIN_DIGITS),
      wrong: 0,
      end: Promise.withResolvers(),
      settled: false,
      onNone: null,
      onPin: null,
    };
    this.#asking = asking;
    this.floor.take();
    this.#inBackground(this.#conduct(asking));
  }

  /** From the first word to the last; whatever happens, the floor is given back. */
  async #conduct(asking: Asking): Promise<void> {
    try {
      this.#script(asking).catch((error: unknown) => {
        this.#options.logger.warn(
          { code: isVoiceError(error) ? error.code : null },
          'an approval could not be asked',
        );
        this.#settle(asking, { kind: 'unheard' });
      });
      const end = await asking.end.promise;
      asking.stage = 'over';
      await this.#conclude(asking, end);
    } finally {
      this.#ear?.close();
      this.#ear = null;
      const kept = this.#kept;
      this.#kept = [];
      this.#keptMs = 0;
      this.#asking = null;
      this.#waitFromNow();
      if (!this.#closed) this.floor.release(kept);
    }
  }

  async #script(asking: Asking): Promise<void> {
    const { wording, approvals, clock } = this.#options;
    const { inline } = this.#options.policy().config;
    const { record } = asking;
    const summary = spokenSummary(
      record.tool,
      JSON.parse(record.args ?? '{}') as Record<string, unknown>,
      wording.dot,
    );
    if (asking.stage === 'pin') {
      if (!(await this.#authenticate(asking, summary))) return;
      asking.stage = 'prompt';
    }
    asking.challenge = drawChallenge(summary, wording.digits, this.#options.random);
    this.#listen(asking);
    const prompt = this.#prompt(asking, summary);
    const until = () => asking.record.createdAt + inline.deadlineS * 1000;
    for (let said = 0; said <= inline.reprompts; said++) {
      const heard = await this.floor.say(said === 0 ? prompt : fill(wording.again, { prompt }));
      if (asking.settled) return;
      if (!heard) {
        this.#settle(asking, { kind: 'unheard' });
        return;
      }
      if (said === 0) {
        const shown = await approvals.prompted(asking.record, clock.wallNow() + inline.timeoutS * 1000);
        // Decided, expired or shown elsewhere meanwhile: `changed` has said so.
        if (!shown || asking.settled) return;
        asking.record = shown;
      }
      asking.stage = 'listen';
      await this.#listenFor(asking, Math.min(inline.listenS * 1000, until() - clock.wallNow()));
      if (asking.settled) return;
      if (!this.#inputs(record.tool).includes('speech')) break;
      if (asking.record.expiresAt <= clock.wallNow()) break;
    }
    await this.#keysOnly(asking);
    this.#settle(asking, { kind: 'unanswered' });
  }

  /** Speech is over; keypad and button have what is left of the time. */
  async #keysOnly(asking: Asking): Promise<void> {
    const { clock, wording } = this.#options;
    const inputs = this.#inputs(asking.record.tool);
    asking.stage = 'keys';
    this.#ear?.close();
    this.#ear = null;
    if (inputs.every((input) => input === 'speech')) return;
    if (inputs.includes('keypad') && inputs.includes('speech')) {
      const code = spokenDigits(asking.challenge, wording.digits);
      await this.floor.say(fill(wording.keysOnly, { code }));
    }
    const left = asking.record.expiresAt - clock.wallNow();
    if (left > 0 && !asking.settled) await this.#sleep(asking, left);
  }

  async #authenticate(asking: Asking, summary: string): Promise<boolean> {
    const { wording, clock } = this.#options;
    const text = fill(wording.pin, { summary });
    for (let first = true; this.#pinTries < MAX_PIN_TRIES; first = false) {
      const entered = new Promise<string | null>((resolve) => {
        asking.onPin = resolve;
      });
      const heard = await this.floor.say(first ? text : wording.pinAgain);
      if (asking.settled) return false;
      if (!heard) {
        this.#settle(asking, { kind: 'unheard' });
        return false;
      }
      const timer = clock.setTimeout(() => asking.onPin?.(null), PIN_TIMEOUT_MS);
      const entry = await entered;
      timer.clear();
      asking.onPin = null;
      if (asking.settled) return false;
      if (entry === null) break;
      if (this.#isRightPin(entry)) return true;
    }
    this.#settle(asking, { kind: 'not_authenticated' });
    return false;
  }

  #isRightPin(entry: string): boolean {
    const { pins, clock, floor } = this.#options;
    this.#pinTries++;
    const person = pins.check(entry, this.#options.policy().config.approvers, floor.caller.id, clock.now());
    if (person) this.#person = person.name;
    return person !== null;
  }

  /** Until something was said that is no decision, or the time is over; never in the middle of somebody's answer. */
  async #listenFor(asking: Asking, ms: number): Promise<void> {
    const { clock } = this.#options;
    const none = new AbortController();
    asking.onNone = () => none.abort();
    const over = asking.end.promise.then(() => none.abort());
    let left = ms;
    for (;;) {
      const timedOut = left > 0 ? await delay(clock, left, none.signal) : !none.signal.aborted;
      if (!timedOut || !(this.#ear?.speaking || this.#recognising > 0)) break;
      left = 250;
    }
    asking.onNone = null;
    if (asking.settled) await over;
  }

  async #sleep(asking: Asking, ms: number): Promise<void> {
    const stop = new AbortController();
    void asking.end.promise.then(() => stop.abort());
    await delay(this.#options.clock, ms, stop.signal);
  }

  /** What the end of the asking means for the record, and what is said about it. */
  async #conclude(asking: Asking, end: End): Promise<void> {
    const { approvals, wording } = this.#options;
    const { outcome } = wording;
    switch (end.kind) {
      case 'decided': {
        const result = await approvals.decide({
          id: asking.record.id,
          approve: end.approve,
          by: this.#person ?? '',
          input: end.input,
          scope: end.scope,
          generation: asking.record.generation,
          ...(end.why === 'wrong_code' ? { reason: 'three wrong entries' } : {}),
        });
        if (!result.ok) await this.#say(result.why === 'expired' ? outcome.expired : outcome.elsewhere);
        else if (end.approve) await this.#say(outcome.approved);
        else await this.#say(end.why === 'wrong_code' ? outcome.wrongCode : outcome.denied);
        return;
      }
      case 'elsewhere':
        await this.#say(outcomeOf(end.record, wording));
        return;
      case 'unanswered':
        if (asking.wasDeferred) {
          await approvals.defer(asking.record);
          await this.#say(outcome.deferred);
        } else {
          await approvals.expire(asking.record);
          await this.#say(outcome.expired);
        }
        return;
      case 'unheard':
      case 'not_authenticated':
        // Nobody could have answered: it waits for somebody who can.
        if (await approvals.defer(asking.record)) this.#tellDeferred(asking.record);
        await this.#say(end.kind === 'unheard' ? outcome.deferred : wording.pinFailed);
        return;
      case 'again': {
        const { record } = asking;
        const again = await approvals.reconnect(record, this.floor.callId, record.expiresAt);
        if (again && !this.#closed) this.#queue.unshift({ record: again, wasDeferred: asking.wasDeferred });
        return;
      }
      case 'gone':
        return;
      default:
        end satisfies never;
    }
  }

  async #say(text: string): Promise<void> {
    if (!this.#closed) await this.floor.say(text);
  }

  #tellDeferred(record: ApprovalRow): void {
    this.floor.tell(
      `Request ${record.id} (${record.tool}) is now waiting for a person's approval elsewhere. Nothing ran. Do not call it again; if it is approved in time it runs by itself and its result follows.`,
    );
  }

  /** What a hang-up does to a request. */
  async #leave({ record, wasDeferred }: Waiting, lost: boolean): Promise<void> {
    const { approvals, clock } = this.#options;
    const { onHangup, reconnectGraceS } = this.#options.policy().config.inline;
    if (wasDeferred || onHangup === 'defer') await approvals.defer(record);
    else if (lost) await approvals.disconnect(record, clock.wallNow() + reconnectGraceS * 1000);
    else await approvals.cancel(record, 'the caller hung up');
  }

  // ---- answers

  #listen(asking: Asking): void {
    const { recogniser, floor } = this.#options;
    if (!recogniser || !this.#inputs(asking.record.tool).includes('speech')) return;
    this.#ear = new AnswerEar(floor.format, (utterance) =>
      this.#inBackground(this.#onUtterance(asking, utterance)),
    );
  }

  async #onUtterance(asking: Asking, utterance: Utterance): Promise<void> {
    const { recogniser, wording, locale, clock } = this.#options;
    // Ours in it, or just before: an echo, or an answer to what had not been asked to its end.
    const clean = this.floor.lastAudibleAt() <= utterance.startedAt - QUIET_BEFORE_MS;
    const counts = clean && asking.stage === 'listen' && utterance.speechMs < MAX_ANSWER_MS;
    if (!counts || !recogniser) {
      this.#keep(utterance);
      return;
    }
    this.#recognising++;
    let answer: Answer = { kind: 'none' };
    try {
      const heard = await clock.track(
        recogniser.recognise(utterance.samples, answerGrammar(wording, locale)),
      );
      answer = spokenAnswer(heard, asking.challenge, wording);
    } catch (error) {
      this.#options.logger.warn(
        { code: isVoiceError(error) ? error.code : null },
        'an answer could not be recognised',
      );
    } finally {
      this.#recognising--;
    }
    if (this.#asking !== asking || asking.settled) return;
    if (this.#answered(asking, answer, 'speech')) return;
    this.#keep(utterance);
    asking.onNone?.();
  }

  /** @returns whether it was a decision */
  #answered(asking: Asking, answer: Answer, input: DecisionInput): boolean {
    switch (answer.kind) {
      case 'approve':
        this.#settle(asking, { kind: 'decided', approve: true, input, scope: answer.scope });
        return true;
      case 'deny':
        this.#settle(asking, { kind: 'decided', approve: false, input, scope: 'once' });
        return true;
      case 'wrong_code':
      case 'none':
        return false;
      default:
        return answer satisfies never;
    }
  }

  #keyEntry(asking: Asking, entry: string | null): void {
    if (entry === null || asking.settled || asking.challenge === '') return;
    switch (matchKeys(entry, asking.challenge)) {
      case 'approve':
        this.#settle(asking, { kind: 'decided', approve: true, input: 'keypad', scope: 'once' });
        break;
      case 'deny':
        this.#settle(asking, { kind: 'decided', approve: false, input: 'keypad', scope: 'once' });
        break;
      case 'wrong':
        if (++asking.wrong >= MAX_WRONG_ENTRIES) {
          this.#settle(asking, {
            kind: 'decided',
            approve: false,
            input: 'keypad',
            scope: 'once',
            why: 'wrong_code',
          });
        }
        break;
    }
  }

  #pinEntry(asking: Asking, entry: string | null): void {
    if (entry !== null) asking.onPin?.(entry);
  }

  #onChanged(record: ApprovalRow): void {
    const at = this.#queue.findIndex((each) => each.record.id === record.id);
    if (at >= 0 && record.status !== 'pending') this.#queue.splice(at, 1);
    const asking = this.#asking;
    if (asking?.record.id !== record.id || asking.settled || record.status === 'pending') return;
    this.#settle(asking, { kind: 'elsewhere', record });
  }

  #settle(asking: Asking, end: End): void {
    if (asking.settled) return;
    asking.settled = true;
    asking.end.resolve(end);
    asking.onNone?.();
    asking.onPin?.(null);
    // What is left of the prompt is of no use any more.
    this.floor.hush();
  }

  /** What was no decision is the model's, when the floor is given back. */
  #keep({ original }: Utterance): void {
    const { format } = this.floor;
    const ms = original.reduce((sum, audio) => sum + audioDurationMs(audio, format), 0);
    if (original.length === 0 || this.#keptMs + ms > MAX_KEPT_MS) return;
    this.#keptMs += ms + KEPT_GAP_MS;
    this.#kept.push(...original, silence(KEPT_GAP_MS * bytesPerMs(format), format));
  }

  // ---- who and how

  #isApprover(policy: Policy): boolean {
    if (this.#person === null) return false;
    const { approvers } = policy.config;
    return approvers.length === 0 || approvers.some(({ name }) => name === this.#person);
  }

  #mayKey(asking: Asking): boolean {
    return this.#inputs(asking.record.tool).includes('keypad');
  }

  /** Inputs that this line has and that may approve this tool. */
  #inputs(tool: string): readonly ('button' | 'keypad' | 'speech')[] {
    const { floor, recogniser } = this.#options;
    const policy = this.#options.policy();
    const has = { button: floor.screen, keypad: floor.keys, speech: recogniser !== null };
    return policy.config.inline.inputs.filter(
      (input) => has[input] && isAtLeastInput(input, policy.minimumInput(tool)),
    );
  }

  #prompt({ record, challenge }: Asking, summary: string): string {
    const { wording } = this.#options;
    const inputs = this.#inputs(record.tool);
    const [speech, keys] = [inputs.includes('speech'), inputs.includes('keypad')];
    const text =
      speech && keys
        ? wording.prompt.speechAndKeys
        : speech
          ? wording.prompt.speech
          : keys
            ? wording.prompt.keys
            : wording.prompt.button;
    return fill(text, { summary, code: spokenDigits(challenge, wording.digits) });
  }

  #waitFromNow(): void {
    this.#waitingSince = this.#options.clock.now();
    this.#quietSince = null;
  }

  #inBackground(work: Promise<unknown>): void {
    work.catch((error: unknown) => {
      this.#options.logger.error(
        { code: isVoiceError(error) ? error.code : null },
        'an approval could not be conducted',
      );
    });
  }
}

function fill(text: string, values: Readonly<Record<string, string>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole);
}

function outcomeOf(record: ApprovalRow, { outcome }: Wording): string {
  switch (record.status) {
    case 'approved':
    case 'executing':
    case 'executed':
      return outcome.approved;
    case 'denied':
      return outcome.denied;
    case 'expired':
      return outcome.expired;
    default:
      return outcome.elsewhere;
  }
}
