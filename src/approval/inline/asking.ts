/**
 * One request while it has the floor: how far its asking has come, and how it ended. It ends once.
 *
 * @module
 */

import type { ApprovalRow } from '../../store/index.ts';
import type { DecisionInput } from '../decision.ts';
import { CHALLENGE_DIGITS, MAX_WRONG_ENTRIES } from './challenge.ts';
import { KeyEntry } from './key-entry.ts';

const MAX_PIN_DIGITS = 12;

export interface Waiting {
  readonly record: ApprovalRow;
  /** It waited elsewhere before this call came: unanswered, it goes on waiting there. */
  readonly wasDeferred: boolean;
}

/** How the asking of one request came to its end. */
export type End =
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

export class Asking implements Waiting {
  readonly wasDeferred: boolean;
  readonly keys = new KeyEntry(CHALLENGE_DIGITS);
  readonly pinKeys = new KeyEntry(MAX_PIN_DIGITS);
  record: ApprovalRow;
  /** The digits drawn for it; an empty text until they are. */
  challenge = '';
  stage: 'pin' | 'prompt' | 'listen' | 'keys' | 'over';
  /** What was said and was no decision: wakes the script for the repetition. */
  onNone: (() => void) | null = null;
  /** A whole entry while the PIN is asked for; `null` when there will be none. */
  onPin: ((entry: string | null) => void) | null = null;
  readonly #end = Promise.withResolvers<End>();
  readonly #hush: () => void;
  #isSettled = false;
  #wrong = 0;

  /** @param hush - stops what is being said: once it is settled, the rest of the prompt is of no use */
  constructor({ record, wasDeferred }: Waiting, stage: 'pin' | 'prompt', hush: () => void) {
    this.record = record;
    this.wasDeferred = wasDeferred;
    this.stage = stage;
    this.#hush = hush;
  }

  get isSettled(): boolean {
    return this.#isSettled;
  }

  /** How it ended. Always settles: the script's own end is one. */
  get end(): Promise<End> {
    return this.#end.promise;
  }

  /** The first end counts. */
  settle(end: End): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#end.resolve(end);
    this.onNone?.();
    this.onPin?.(null);
    this.#hush();
  }

  decided(approve: boolean, input: DecisionInput, scope: 'once' | 'call' = 'once'): void {
    this.settle({ kind: 'decided', approve, input, scope });
  }

  /** An entry on the keypad that is not the code: the third is a no. */
  wrongEntry(): void {
    if (++this.#wrong < MAX_WRONG_ENTRIES) return;
    this.settle({ kind: 'decided', approve: false, input: 'keypad', scope: 'once', why: 'wrong_code' });
  }
}
