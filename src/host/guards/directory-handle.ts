/**
 * An open directory that stays the same directory while its path is swapped under us. Node has no `openat`; on
 * Linux `/proc/self/fd/N/name` is one. Elsewhere the path is compared again after every open.
 *
 * @module
 */

import { constants, type Dirent, existsSync, type Stats } from 'node:fs';
import {
  access as checkAccess,
  type FileHandle,
  lstat,
  mkdir,
  open,
  opendir,
  readlink,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pathKey, resolvePhysical } from './physical-path.ts';

const DESCRIPTORS = '/proc/self/fd';
const HAS_DESCRIPTOR_PATHS = process.platform === 'linux' && existsSync(DESCRIPTORS);

/** Most entries of one directory that are looked at. */
export const MAX_DIRECTORY_ENTRIES = 20_000;

/** Thrown when a path no longer leads where it led when it was resolved. */
export class PathSwappedError extends Error {
  override readonly name = 'PathSwappedError';
}

export function errorCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** Where an open file really lies, in the kernel's words. */
async function descriptorPath(handle: FileHandle, stats: Stats): Promise<string> {
  const path = await readlink(`${DESCRIPTORS}/${handle.fd}`);
  // Replaced by a rename since: still the file that was opened, and its name still says where.
  return stats.nlink === 0 && path.endsWith(' (deleted)') ? path.slice(0, -' (deleted)'.length) : path;
}

async function samePlace(handle: FileHandle, stats: Stats, path: string): Promise<boolean> {
  if (HAS_DESCRIPTOR_PATHS) return pathKey(await descriptorPath(handle, stats)) === pathKey(path);
  if (pathKey(await resolvePhysical(path)) !== pathKey(path)) return false;
  const found = await lstat(path).catch(() => null);
  return found !== null && found.dev === stats.dev && found.ino === stats.ino;
}

/** @throws PathSwappedError, after closing the handle, when it isn't open on `physicalPath` */
async function verified(handle: FileHandle, physicalPath: string): Promise<Stats> {
  try {
    const stats = await handle.stat();
    if (!(await samePlace(handle, stats, physicalPath))) throw new PathSwappedError(physicalPath);
    return stats;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function openNoFollow(path: string, flags: number, mode?: number): Promise<FileHandle> {
  try {
    // Non-blocking, so that a FIFO put in a file's place can't hold us.
    return await open(path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, mode);
  } catch (error) {
    // A link sits where the check saw none.
    if (errorCode(error) === 'ELOOP' || errorCode(error) === 'EMLINK') throw new PathSwappedError(path);
    throw error;
  }
}

export interface OpenedFile {
  readonly handle: FileHandle;
  readonly stats: Stats;
}

export class DirectoryHandle {
  readonly path: string;
  readonly #handle: FileHandle;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
  }

  static async #verified(path: string, access: string): Promise<DirectoryHandle> {
    let handle: FileHandle;
    try {
      handle = await openNoFollow(access, constants.O_RDONLY | constants.O_DIRECTORY);
    } catch (error) {
      // With O_DIRECTORY a link in the last place is reported as "not a directory".
      if (errorCode(error) === 'ENOTDIR' && (await lstat(access).catch(() => null))?.isSymbolicLink()) {
        throw new PathSwappedError(path);
      }
      throw error;
    }
    await verified(handle, path);
    return new DirectoryHandle(path, handle);
  }

  /**
   * Opens the directory at a physical path.
   *
   * @throws PathSwappedError when the path led elsewhere; the system's error when it is missing or no directory
   */
  static open(physicalPath: string): Promise<DirectoryHandle> {
    return DirectoryHandle.#verified(physicalPath, physicalPath);
  }

  /** The same, creating what is missing on the way, each step inside the one before. */
  static async create(physicalPath: string): Promise<DirectoryHandle> {
    try {
      return await DirectoryHandle.open(physicalPath);
    } catch (error) {
      if (errorCode(error) !== 'ENOENT' || dirname(physicalPath) === physicalPath) throw error;
    }
    const parent = await DirectoryHandle.create(dirname(physicalPath));
    try {
      const access = parent.child(basename(physicalPath));
      await mkdir(access).catch((error: unknown) => {
        if (errorCode(error) !== 'EEXIST') throw error;
      });
      return await DirectoryHandle.#verified(physicalPath, access);
    } finally {
      await parent.close();
    }
  }

  /** A path by which the system finds `name` in this very directory. */
  child(name: string): string {
    return join(HAS_DESCRIPTOR_PATHS ? `${DESCRIPTORS}/${this.#handle.fd}` : this.path, name);
  }

  /** Opens a file of this directory; a link in its place is refused. The caller closes the handle. */
  async openFile(name: string, flags: number, mode?: number): Promise<OpenedFile> {
    const handle = await openNoFollow(this.child(name), flags, mode);
    return { handle, stats: await verified(handle, join(this.path, name)) };
  }

  /** @throws the system's error when `name` may not be written to */
  requireWritable(name: string): Promise<void> {
    return checkAccess(this.child(name), constants.W_OK);
  }

  /** The entries by name, at most `MAX_DIRECTORY_ENTRIES`. */
  async entries(): Promise<Dirent[]> {
    const entries: Dirent[] = [];
    for await (const entry of await opendir(this.child('.'))) {
      entries.push(entry);
      if (entries.length >= MAX_DIRECTORY_ENTRIES) break;
    }
    return entries.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  }

  async close(): Promise<void> {
    await this.#handle.close();
  }
}
