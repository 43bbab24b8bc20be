import { isVoiceError, VoiceError } from '../errors.ts';

/**
 * SQLite's extended result codes and PostgreSQL's SQLSTATEs for "this row is there already" and "the row it
 * belongs to is not" (sqlite.org/rescode.html; PostgreSQL manual, appendix A).
 */
const CONFLICTS: ReadonlySet<unknown> = new Set([1555, 2067, 787, '23505', '23503']);

/** Library errors leave this room as coded ones, with the cause kept. */
export async function wrapDatabaseError<T>(work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (isVoiceError(error)) throw error;
    if (CONFLICTS.has(codeOf(error))) {
      throw new VoiceError('STORE_CONFLICT', 'The row is there already, or what it belongs to is not.', {
        cause: error,
      });
    }
    throw new VoiceError('STORE_UNAVAILABLE', 'The database did not answer.', { cause: error });
  }
}

function codeOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('errcode' in error) return error.errcode;
  return 'code' in error ? error.code : undefined;
}
