/**
 * A lock between processes: a file that is there while one of them works.
 *
 * @module
 */

import { open, rm, stat } from 'node:fs/promises';
import { type Clock, delay } from '../../clock.ts';
import { VoiceError } from '../../errors.ts';

/** A lock that is older than this was left by a process that died. */
export const LOCK_STALE_MS = 5000;
/** Who does not get it by then gives up. */
export const LOCK_WAIT_MS = 15_000;
const LOOK_EVERY_MS = 10;

/** @throws VoiceError `HOST_UNAVAILABLE` when the lock can't be had, and what `work` throws */
export async function withFileLock<T>(path: string, clock: Clock, work: () => Promise<T>): Promise<T> {
  const until = clock.now() + LOCK_WAIT_MS;
  while (!(await took(path))) {
    if (clock.now() > until) throw new VoiceError('HOST_UNAVAILABLE', 'A session file stays locked.');
    const age = await ageOf(path, clock);
    if (age !== null && age > LOCK_STALE_MS) await rm(path, { force: true });
    else await delay(clock, LOOK_EVERY_MS);
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

/** What tells one state of a file from the next; empty where there is none. */
export async function stampOf(path: string): Promise<string> {
  return stat(path, { bigint: true }).then(
    ({ mtimeNs, ino, size }) => `${mtimeNs}:${ino}:${size}`,
    () => '',
  );
}

async function took(path: string): Promise<boolean> {
  try {
    const file = await open(path, 'wx', 0o600);
    await file.close();
    return true;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false;
    throw new VoiceError('HOST_UNAVAILABLE', 'A session file can’t be locked.', { cause: error });
  }
}

async function ageOf(path: string, clock: Clock): Promise<number | null> {
  return stat(path).then(
    ({ mtimeMs }) => clock.wallNow() - mtimeMs,
    () => null,
  );
}
