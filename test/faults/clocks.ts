import { FakeClock } from '../../src/testing/index.ts';

/** A clock that can jump, as a machine's does: the date when it is set, everything when the machine stood still. */
export class JumpingClock extends FakeClock {
  #wallMs = 0;
  #stoodMs = 0;

  /** The date is set by hand or by NTP; time goes on as it did. */
  setDateBy(ms: number): void {
    this.#wallMs += ms;
  }

  /** The machine slept or was busy: time has passed, and no timer has fired in it. */
  standStill(ms: number): void {
    this.#stoodMs += ms;
  }

  override now(): number {
    return super.now() + this.#stoodMs;
  }

  override wallNow(): number {
    return super.wallNow() + this.#wallMs + this.#stoodMs;
  }
}
