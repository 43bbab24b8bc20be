/**
 * Where answers come in: keys, speech and typed text of the caller's, each to the request that has the floor.
 *
 * @module
 */

import type { AudioData } from '../../audio/index.ts';
import { isVoiceError } from '../../errors.ts';
import type { DecisionInput } from '../decision.ts';
import { type Answer, answerGrammar, readAnswer, spokenAnswer } from './answers.ts';
import type { Asking } from './asking.ts';
import { matchKeys } from './challenge.ts';
import { AnswerEar, MAX_ANSWER_MS, type Utterance } from './ear.ts';
import { KeptAudio } from './kept-audio.ts';
import { lineInputs } from './line-inputs.ts';
import type { LineOptions } from './line-options.ts';

/** An utterance counts only if nothing of ours was audible in it and for so long before. */
export const QUIET_BEFORE_MS = 700;

export class AnswerDesk {
  readonly #options: LineOptions;
  readonly #kept: KeptAudio;
  #asking: Asking | null = null;
  #ear: AnswerEar | null = null;
  #recognising = 0;

  constructor(options: LineOptions) {
    this.#options = options;
    this.#kept = new KeptAudio(options.floor.format);
  }

  /** Somebody is in the middle of an answer, or what they said is being recognised. */
  get isBusy(): boolean {
    return (this.#ear?.speaking ?? false) || this.#recognising > 0;
  }

  /** From here on answers are this request's. */
  open(asking: Asking): void {
    this.#asking = asking;
  }

  /** @returns what was no decision, for the model */
  close(): readonly AudioData[] {
    this.deafen();
    this.#asking = null;
    return this.#kept.take();
  }

  /** Speech counts from here on, where this line has it for this tool. */
  listen(asking: Asking): void {
    const { recogniser, floor, logger } = this.#options;
    if (!recogniser || !this.#takes(asking, 'speech')) return;
    this.#ear = new AnswerEar(floor.format, (utterance) => {
      this.#onUtterance(asking, utterance).catch((error: unknown) => {
        const code = isVoiceError(error) ? error.code : null;
        logger.error({ code }, 'an answer could not be taken');
      });
    });
  }

  /** Speech is over. */
  deafen(): void {
    this.#ear?.close();
    this.#ear = null;
  }

  audio(audio: AudioData): void {
    this.#ear?.hear(audio, this.#options.clock.now());
  }

  digit(digit: string): void {
    const asking = this.#asking;
    if (!asking) return;
    const now = this.#options.clock.now();
    if (asking.stage === 'pin') pinEntry(asking, asking.pinKeys.push(digit, now));
    else if (asking.stage !== 'over' && this.#takes(asking, 'keypad'))
      keyEntry(asking, asking.keys.push(digit, now));
  }

  /** @returns whether it was a decision */
  text(text: string): boolean {
    const asking = this.#asking;
    if (!asking || asking.stage === 'pin' || asking.stage === 'over') return false;
    if (!this.#takes(asking, 'speech')) return false;
    return answered(asking, readAnswer(text, asking.challenge, this.#options.wording), 'speech');
  }

  tick(now: number): void {
    const asking = this.#asking;
    if (!asking) return;
    pinEntry(asking, asking.pinKeys.tick(now));
    keyEntry(asking, asking.keys.tick(now));
  }

  async #onUtterance(asking: Asking, utterance: Utterance): Promise<void> {
    const { recogniser, wording, locale, clock, floor, logger } = this.#options;
    // Ours in it, or just before: an echo, or an answer to what had not been asked to its end.
    const clean = floor.lastAudibleAt() <= utterance.startedAt - QUIET_BEFORE_MS;
    const counts = clean && asking.stage === 'listen' && utterance.speechMs < MAX_ANSWER_MS;
    if (!counts || !recogniser) {
      this.#kept.add(utterance.original);
      return;
    }
    this.#recognising++;
    let answer: Answer = { kind: 'none' };
    try {
      const grammar = answerGrammar(wording, locale);
      const heard = await clock.track(recogniser.recognise(utterance.samples, grammar));
      answer = spokenAnswer(heard, asking.challenge, wording);
    } catch (error) {
      logger.warn({ code: isVoiceError(error) ? error.code : null }, 'an answer could not be recognised');
    } finally {
      this.#recognising--;
    }
    if (this.#asking !== asking || asking.isSettled) return;
    if (answered(asking, answer, 'speech')) return;
    this.#kept.add(utterance.original);
    asking.onNone?.();
  }

  #takes(asking: Asking, input: 'keypad' | 'speech'): boolean {
    return lineInputs(this.#options, asking.record.tool).includes(input);
  }
}

/** @returns whether it was a decision */
function answered(asking: Asking, answer: Answer, input: DecisionInput): boolean {
  switch (answer.kind) {
    case 'approve':
      asking.decided(true, input, answer.scope);
      return true;
    case 'deny':
      asking.decided(false, input);
      return true;
    case 'wrong_code':
    case 'none':
      return false;
    default:
      return answer satisfies never;
  }
}

function keyEntry(asking: Asking, entry: string | null): void {
  if (entry === null || asking.isSettled || asking.challenge === '') return;
  switch (matchKeys(entry, asking.challenge)) {
    case 'approve':
      asking.decided(true, 'keypad');
      break;
    case 'deny':
      asking.decided(false, 'keypad');
      break;
    case 'wrong':
      asking.wrongEntry();
      break;
  }
}

function pinEntry(asking: Asking, entry: string | null): void {
  if (entry !== null) asking.onPin?.(entry);
}
