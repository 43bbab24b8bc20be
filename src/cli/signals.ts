/**
 * SIGTERM and SIGINT: the first asks for an orderly end, the second does not wait for it.
 *
 * @module
 */

export interface StopSignals {
  /** Resolves with the first signal. */
  readonly first: Promise<NodeJS.Signals>;
  /** Takes the handlers off again. */
  dispose(): void;
}

const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** @param onSecond - called with the second signal; what it does must end the process */
export function onStopSignals(onSecond: (signal: NodeJS.Signals) => void): StopSignals {
  const { promise, resolve } = Promise.withResolvers<NodeJS.Signals>();
  let stopping = false;
  const onSignal = (signal: NodeJS.Signals) => {
    if (stopping) onSecond(signal);
    stopping = true;
    resolve(signal);
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  return {
    first: promise,
    dispose() {
      for (const signal of SIGNALS) process.off(signal, onSignal);
    },
  };
}
