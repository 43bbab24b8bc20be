/**
 * Errors as a person at a terminal sees them.
 *
 * @module
 */

import { type ErrorCode, isVoiceError } from '../errors.ts';
import { EXIT } from './exit-codes.ts';

const CONFIG_CODES: readonly ErrorCode[] = [
  'CONFIG_INVALID',
  'CONFIG_NOT_FOUND',
  'CONFIG_UNREADABLE',
  'NODE_TOO_OLD',
  'PHRASE_INVALID',
];

/** The lines to print, without a stack: what a coded error says is written to be read. */
export function errorText(error: unknown): string {
  if (isVoiceError(error)) return `${error.code}: ${error.message}\n`;
  if (error instanceof Error) return `${error.stack ?? error.message}\n`;
  return `${String(error)}\n`;
}

export function exitCodeOf(error: unknown): number {
  if (!isVoiceError(error)) return EXIT.failed;
  if (CONFIG_CODES.includes(error.code)) return EXIT.config;
  return error.retryable || error.code === 'ADDRESS_IN_USE' ? EXIT.unavailable : EXIT.failed;
}
