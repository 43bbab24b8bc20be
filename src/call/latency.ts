/**
 * Measures each turn: from the end of the caller's speech to the first of the agent's audio that plays after it.
 *
 * Pure: times are arguments, in monotonic ms.
 *
 * @module
 */

export interface MeasuredTurn {
  readonly speechEndAt: number;
  readonly agentStartAt: number;
  /** Time in which at least one tool ran. */
  readonly toolMs: number;
}

export class LatencyMeter {
  #speechEndAt: number | null = null;
  #toolsRunning = 0;
  #toolsSince = 0;
  #toolMs = 0;

  speechStarted(): void {
    this.#speechEndAt = null;
  }

  speechEnded(at: number): void {
    this.#speechEndAt = at;
    this.#toolMs = 0;
    this.#toolsSince = at;
  }

  toolStarted(now: number): void {
    if (this.#toolsRunning++ === 0) this.#toolsSince = now;
  }

  toolEnded(now: number): void {
    if (this.#toolsRunning === 0) return;
    if (--this.#toolsRunning === 0) this.#toolMs += now - this.#toolsSince;
  }

  /** The agent is heard. Measures once for each end of the caller's speech. */
  agentStarted(at: number): MeasuredTurn | null {
    const speechEndAt = this.#speechEndAt;
    if (speechEndAt === null || at < speechEndAt) return null;
    this.#speechEndAt = null;
    const running = this.#toolsRunning > 0 ? at - this.#toolsSince : 0;
    return { speechEndAt, agentStartAt: at, toolMs: this.#toolMs + running };
  }
}
