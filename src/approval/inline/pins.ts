/**
 * PINs on a call: who the person on the line is, by the keypad alone. Three tries a call, and a lock-out for each number and
 * for all of them together, so that guessing is no way in.
 *
 * @module
 */

import { createHash, timingSafeEqual } from 'node:crypto';
import type { Approver } from '../../config-approvals.ts';

/** Tries on one call. */
export const MAX_PIN_TRIES = 3;
/** Failures of one number in the window that lock it out. */
export const MAX_FAILURES_PER_NUMBER = 5;
/** Failures in all in the window that lock everybody out. */
export const MAX_FAILURES_IN_ALL = 30;
export const PIN_WINDOW_MS = 3_600_000;
/** Numbers whose failures are remembered; the oldest are forgotten, the count of all is not. */
export const MAX_PIN_NUMBERS = 1000;

const digest = (text: string) => createHash('sha256').update(text).digest();

export class PinGuard {
  readonly #perNumber = new Map<string, number[]>();
  #all: number[] = [];

  /** Whether a PIN may be tried from this number now. */
  isOpen(number: string | null, now: number): boolean {
    this.#forget(now);
    if (this.#all.length >= MAX_FAILURES_IN_ALL) return false;
    return (this.#perNumber.get(number ?? '') ?? []).length < MAX_FAILURES_PER_NUMBER;
  }

  /** The person whose PIN it is, or `null`, which counts as a failure. Every PIN is compared, each in constant time. */
  check(entry: string, approvers: readonly Approver[], number: string | null, now: number): Approver | null {
    if (!this.isOpen(number, now)) return null;
    const given = digest(entry);
    let found: Approver | null = null;
    for (const approver of approvers) {
      if (approver.pin !== undefined && timingSafeEqual(digest(approver.pin), given)) found = approver;
    }
    if (!found) this.#failed(number ?? '', now);
    return found;
  }

  #failed(number: string, now: number): void {
    this.#all.push(now);
    const list = this.#perNumber.get(number) ?? [];
    this.#perNumber.delete(number);
    this.#perNumber.set(number, [...list, now]);
    const [oldest] = this.#perNumber.keys();
    if (this.#perNumber.size > MAX_PIN_NUMBERS && oldest !== undefined) this.#perNumber.delete(oldest);
  }

  #forget(now: number): void {
    const since = now - PIN_WINDOW_MS;
    if ((this.#all[0] ?? now) > since) return;
    this.#all = this.#all.filter((at) => at > since);
    for (const [number, list] of this.#perNumber) {
      const young = list.filter((at) => at > since);
      if (young.length === 0) this.#perNumber.delete(number);
      else this.#perNumber.set(number, young);
    }
  }
}
