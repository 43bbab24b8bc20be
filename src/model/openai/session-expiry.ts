import type { Clock, ClockTimer } from '../../clock.ts';

/** How long before the session's end it is told. */
export const EXPIRY_NOTICE_MS = 300_000;

/** Tells once, some time before the server ends a session because of its age. */
export class SessionExpiry {
  readonly #maxMs: number | null;
  readonly #clock: Clock;
  #timer: ClockTimer | null = null;

  /** @param maxMs - how long any session of this server lasts, where that is known */
  constructor(maxMs: number | null, clock: Clock) {
    this.#maxMs = maxMs;
    this.#clock = clock;
  }

  /**
   * @param expiresAtS - the end that the server states, in seconds since 1970
   * @param tell - gets the ms that are left
   */
  watch(expiresAtS: number | null, tell: (inMs: number) => void): void {
    const maxMs = this.#maxMs;
    const statedMs = expiresAtS === null ? null : expiresAtS * 1000 - this.#clock.wallNow();
    // The server's stamp counts only while it is plausible: the two clocks need not agree.
    const endsInMs =
      statedMs !== null && statedMs > EXPIRY_NOTICE_MS && (maxMs === null || statedMs < maxMs)
        ? statedMs
        : maxMs;
    if (endsInMs === null) return;
    const inMs = Math.min(EXPIRY_NOTICE_MS, endsInMs);
    this.#timer = this.#clock.setTimeout(() => tell(inMs), endsInMs - inMs);
  }

  clear(): void {
    this.#timer?.clear();
  }
}
