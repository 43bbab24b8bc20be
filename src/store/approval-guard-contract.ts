/**
 * What guards decisions over restarts and over processes: failed PINs, and messages that were taken already.
 *
 * @module
 */

export interface PinTry {
  /** 128-bit random id, hex. */
  readonly id: string;
  /** Hash of the number it comes from; never the number. */
  readonly numberHash: string;
  readonly at: number;
}

export interface PinLimits {
  /** Failures after this time count. */
  readonly since: number;
  readonly perNumber: number;
  readonly inAll: number;
}

export interface ApprovalGuardStore {
  /** Random, made with the database: what numbers are hashed with. */
  pinSalt(): Promise<string>;
  /**
   * Counts a try as failed, before anybody knows whether it is, unless there were too many: of two processes at the limit
   * one gets it.
   *
   * @returns whether it may be tried
   */
  takePinTry(pinTry: PinTry, limits: PinLimits): Promise<boolean>;
  /** It was right. */
  forgivePinTry(id: string): Promise<void>;
  /** Whether a try would be taken now. */
  mayTryPin(numberHash: string, limits: PinLimits): Promise<boolean>;
  /**
   * Remembers a message; of two that come at once, in whatever processes, one is new.
   *
   * @param max - messages that are remembered; beyond it the oldest are forgotten
   * @returns whether it is new
   */
  rememberMessage(keyHash: string, at: number, max: number): Promise<boolean>;
  /** Forgets what is older. @returns how many rows */
  sweepGuards(olderThan: { readonly pinTries: number; readonly messages: number }): Promise<number>;
}
