/**
 * Those who wait until nothing is being said and nothing is about to be.
 *
 * @module
 */

export class Quiet {
  readonly #waiting = new Set<(isQuiet: boolean) => void>();

  get waitingCount(): number {
    return this.#waiting.size;
  }

  /** Resolves to `true` at the next quiet moment, to `false` when the signal fires or the call ends before it. */
  wait(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      const settle = (isQuiet: boolean) => {
        signal.removeEventListener('abort', onAbort);
        this.#waiting.delete(settle);
        resolve(isQuiet);
      };
      const onAbort = () => settle(false);
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.add(settle);
    });
  }

  tick(isQuiet: boolean): void {
    if (isQuiet) this.#settleAll(true);
  }

  close(): void {
    this.#settleAll(false);
  }

  #settleAll(isQuiet: boolean): void {
    for (const settle of [...this.#waiting]) settle(isQuiet);
  }
}
