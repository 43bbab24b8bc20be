/**
 * The file system as tools see it: every operation asks the policy and works on the file that was asked about,
 * even when a link is swapped in between.
 *
 * @module
 */

import { createHash, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, rename, unlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import type { FileFingerprint } from '../../gateway/index.ts';
import { WorkspaceBoundaryError } from './boundary.ts';
import { DirectoryHandle, errorCode, PathSwappedError } from './directory-handle.ts';
import type { WorkspaceView } from './workspace-policy.ts';

export type ReadOutcome =
  | {
      readonly kind: 'file';
      /** Physical path. */
      readonly path: string;
      readonly bytes: Buffer;
      readonly fingerprint: FileFingerprint;
    }
  | { readonly kind: 'missing'; readonly path: string }
  | { readonly kind: 'not-a-file'; readonly path: string }
  | { readonly kind: 'too-large'; readonly path: string; readonly size: number };

const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

const MIN_CHUNK_BYTES = 4096;
const MAX_CHUNK_BYTES = 262_144;

/**
 * Reads to the end, but never past `maxBytes`: a file may grow after its size was read. The hash is taken chunk by
 * chunk, so that a large file doesn't hold up the thread in one go.
 */
async function readUpTo(
  handle: FileHandle,
  expectedBytes: number,
  maxBytes: number,
): Promise<{ readonly bytes: Buffer; readonly contentHash: string } | null> {
  const chunkBytes = Math.min(Math.max(expectedBytes + 1, MIN_CHUNK_BYTES), MAX_CHUNK_BYTES);
  const hash = createHash('sha256');
  const chunks: Buffer[] = [];
  let length = 0;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(chunkBytes), 0, chunkBytes, null);
    if (bytesRead === 0) return { bytes: Buffer.concat(chunks, length), contentHash: hash.digest('hex') };
    length += bytesRead;
    if (length > maxBytes) return null;
    const chunk = buffer.subarray(0, bytesRead);
    hash.update(chunk);
    chunks.push(chunk);
  }
}

const SYSTEM_ERRORS: Readonly<Record<string, string>> = {
  EACCES: 'Permission denied',
  EPERM: 'Permission denied',
  EISDIR: 'Is a directory',
  ENOTDIR: 'Not a directory',
  ENOENT: 'No such file or directory',
  ENAMETOOLONG: 'File name too long',
  ENOSPC: 'No space left on device',
  EDQUOT: 'Disk quota exceeded',
  EROFS: 'Read-only file system',
  EMFILE: 'Too many open files',
};

/**
 * What a tool may say of a failed operation: a swapped path is a refusal, and a system error names the path as the
 * caller gave it, not the descriptor we reached it by.
 */
export function asRefusal(error: unknown, asGiven: string): unknown {
  if (error instanceof PathSwappedError) return WorkspaceBoundaryError.swapped(asGiven);
  const code = errorCode(error);
  return code === null ? error : new Error(`${SYSTEM_ERRORS[code] ?? code}: ${asGiven}`);
}

/** Reads a file whose physical path the view allows. */
export async function readGuarded(
  view: WorkspaceView,
  physicalPath: string,
  asGiven: string,
  maxBytes: number,
): Promise<ReadOutcome> {
  view.require(physicalPath, asGiven);
  const path = physicalPath;
  const name = basename(path);
  if (name === '') return { kind: 'not-a-file', path };
  try {
    const directory = await DirectoryHandle.open(dirname(path));
    try {
      const { handle, stats } = await directory.openFile(name, constants.O_RDONLY);
      try {
        if (!stats.isFile()) return { kind: 'not-a-file', path };
        if (!view.allowsFile(stats)) throw WorkspaceBoundaryError.reserved(asGiven);
        if (stats.size > maxBytes) return { kind: 'too-large', path, size: stats.size };
        const content = await readUpTo(handle, stats.size, maxBytes);
        if (content === null) return { kind: 'too-large', path, size: maxBytes + 1 };
        const { bytes, contentHash } = content;
        return {
          kind: 'file',
          path,
          bytes,
          fingerprint: { mtimeMs: stats.mtimeMs, contentHash },
        };
      } finally {
        await handle.close();
      }
    } finally {
      await directory.close();
    }
  } catch (error) {
    const code = errorCode(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { kind: 'missing', path };
    if (code === 'ENXIO' || code === 'ENODEV') return { kind: 'not-a-file', path };
    throw asRefusal(error, asGiven);
  }
}

/** Permissions of the file that is about to be replaced, or `null` when there is none; refuses what is no file. */
async function replacedMode(
  view: WorkspaceView,
  directory: DirectoryHandle,
  name: string,
  asGiven: string,
): Promise<number | null> {
  try {
    const { handle, stats } = await directory.openFile(name, constants.O_RDONLY);
    await handle.close();
    if (!stats.isFile()) {
      throw new Error(`${stats.isDirectory() ? 'Is a directory' : 'Is not a regular file'}: ${asGiven}`);
    }
    if (!view.allowsFile(stats)) throw WorkspaceBoundaryError.reserved(asGiven);
    // A rename would replace a read-only file without asking.
    await directory.requireWritable(name);
    return stats.mode & 0o777;
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    if (errorCode(error) === 'ENXIO') throw new Error(`Is not a regular file: ${asGiven}`);
    throw error;
  }
}

/**
 * Writes a whole file whose physical path the view allows: beside it first, then renamed into place, so that a
 * reader sees the old or the new and a link in its place is replaced, never followed.
 */
export async function writeGuarded(
  view: WorkspaceView,
  physicalPath: string,
  asGiven: string,
  content: Uint8Array,
): Promise<FileFingerprint> {
  view.require(physicalPath, asGiven);
  const name = basename(physicalPath);
  if (name === '') throw new Error(`Is a directory: ${asGiven}`);
  try {
    const directory = await DirectoryHandle.create(dirname(physicalPath));
    try {
      const mode = await replacedMode(view, directory, name, asGiven);
      const temporary = `.${randomBytes(8).toString('hex')}.tmp`;
      const { handle } = await directory.openFile(
        temporary,
        constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
        mode ?? 0o666,
      );
      try {
        if (mode !== null) await handle.chmod(mode);
        await handle.writeFile(content);
        const { mtimeMs } = await handle.stat();
        await rename(directory.child(temporary), directory.child(name));
        return { mtimeMs, contentHash: hashOf(content) };
      } catch (error) {
        await unlink(directory.child(temporary)).catch(() => {});
        throw error;
      } finally {
        await handle.close();
      }
    } finally {
      await directory.close();
    }
  } catch (error) {
    throw asRefusal(error, asGiven);
  }
}
