/** What the process ends with; scripts and service managers may rely on it. */
export const EXIT = {
  ok: 0,
  /** Something went wrong while it ran. */
  failed: 1,
  /** The command line could not be understood. */
  usage: 2,
  /** A port that is taken, a model or a store that can't be reached: the same command may work later. */
  unavailable: 69,
  /** The configuration is missing or wrong, or Node is too old. */
  config: 78,
} as const;
