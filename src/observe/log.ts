/**
 * Logging. At the default level no line holds a key, a token, a number, a digit or a transcript: call sites log
 * ids, codes, counts and durations, and nothing that came from a person or a provider as free text.
 *
 * @module
 */

import { type Logger, pino } from 'pino';

export type { Logger };

/** JSON lines on stderr, so that stdout stays free for output and protocol. */
export function createLogger(level: string): Logger {
  return pino({ level, base: null }, pino.destination({ dest: 2, sync: true }));
}

/** Says nothing; for tests and for embedders that pass none. */
export const silentLogger: Logger = pino({ level: 'silent' });
