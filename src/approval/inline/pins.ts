/**
 * PINs on a call: who the person on the line is, by the keypad alone. Three tries a call, and a lock-out for each number and
 * for all of them together, so that guessing is no way in. Failures are in the store: a restart or another process forgives
 * nothing.
 *
 * @module
 */

import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { promisify } from 'node:util';
import type { Clock } from '../../clock.ts';
import type { Approver } from '../../config-approvals.ts';
import type { ApprovalGuardStore, PinLimits } from '../../store/index.ts';

/** Tries on one call. */
export const MAX_PIN_TRIES = 3;
/** Failures of one number in the window that lock it out. */
export const MAX_FAILURES_PER_NUMBER = 5;
/** Failures in all in the window that lock everybody out; the store never holds more of a window. */
export const MAX_FAILURES_IN_ALL = 30;
export const PIN_WINDOW_MS = 3_600_000;

type PinStore = Pick<ApprovalGuardStore, 'pinSalt' | 'takePinTry' | 'forgivePinTry' | 'mayTryPin'>;

const digest = (text: string) => createHash('sha256').update(text).digest();
const slowHash: (text: string, salt: string, length: number) => Promise<Buffer> = promisify(scrypt);

export class PinGuard {
  readonly #store: PinStore;
  readonly #clock: Clock;

  constructor(store: PinStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /**
   * What a number is known by in the store. Slow on purpose: there are few enough numbers to try them all.
   *
   * @param number - `null` for a withheld one; they are all one
   */
  async keyOf(number: string | null): Promise<string> {
    const salt = await this.#store.pinSalt();
    return (await this.#clock.track(slowHash(number ?? '', salt, 16))).toString('hex');
  }

  /** Whether a PIN may be tried from this number now. @throws VoiceError `STORE_UNAVAILABLE` */
  isOpen(numberKey: string): Promise<boolean> {
    return this.#store.mayTryPin(numberKey, this.#limits());
  }

  /**
   * The person whose PIN it is, or `null`, which has been counted before anything was compared. Every PIN is compared, each
   * in constant time.
   *
   * @throws VoiceError `STORE_UNAVAILABLE`: then nobody is let in
   */
  async check(entry: string, approvers: readonly Approver[], numberKey: string): Promise<Approver | null> {
    const id = randomBytes(16).toString('hex');
    const pinTry = { id, numberHash: numberKey, at: this.#clock.wallNow() };
    if (!(await this.#store.takePinTry(pinTry, this.#limits()))) return null;
    const given = digest(entry);
    let found: Approver | null = null;
    for (const approver of approvers) {
      if (approver.pin !== undefined && timingSafeEqual(digest(approver.pin), given)) found = approver;
    }
    if (found) await this.#store.forgivePinTry(id);
    return found;
  }

  #limits(): PinLimits {
    return {
      since: this.#clock.wallNow() - PIN_WINDOW_MS,
      perNumber: MAX_FAILURES_PER_NUMBER,
      inAll: MAX_FAILURES_IN_ALL,
    };
  }
}
