/**
 * Walking a folder without leaving it: links are named, never followed; reserved folders are not seen.
 *
 * @module
 */

import { join } from 'node:path';
import { DirectoryHandle, errorCode, PathSwappedError } from './directory-handle.ts';
import { resolvePhysical } from './physical-path.ts';
import type { WorkspaceView } from './workspace-policy.ts';

/** Most entries one walk yields. */
export const MAX_WALK_ENTRIES = 50_000;

/** Deepest level a walk goes to. */
export const MAX_WALK_DEPTH = 64;

/** Folders of tools and caches; a person who asks for "the files" doesn't mean them. */
export const IGNORED_FOLDERS: ReadonlySet<string> = new Set([
  '.git',
  'node_modules',
  '__pycache__',
  '.venv',
  'venv',
  'dist',
  'build',
  '.tox',
  '.mypy_cache',
  '.pytest_cache',
  '.ruff_cache',
  '.coverage',
  'htmlcov',
]);

export interface WalkEntry {
  readonly name: string;
  /** Path of the entry itself; its folder is physical, the entry may be a link. */
  readonly path: string;
  /** Path below the folder the walk started in, with `/`. */
  readonly relative: string;
  readonly kind: 'file' | 'directory' | 'link' | 'other';
}

export interface WalkOptions {
  /** @defaultValue true */
  readonly recursive?: boolean;
  readonly signal?: AbortSignal;
  /** @defaultValue `MAX_WALK_ENTRIES` */
  readonly maxEntries?: number;
}

/** The entries of one directory that the view allows, by name. */
async function readFolder(view: WorkspaceView, path: string, relative: string): Promise<WalkEntry[]> {
  const directory = await DirectoryHandle.open(path);
  try {
    return (await directory.entries())
      .filter((entry) => !IGNORED_FOLDERS.has(entry.name) && view.allows(join(path, entry.name)))
      .map((entry) => ({
        name: entry.name,
        path: join(path, entry.name),
        relative: relative === '' ? entry.name : `${relative}/${entry.name}`,
        kind: entry.isFile()
          ? 'file'
          : entry.isDirectory()
            ? 'directory'
            : entry.isSymbolicLink()
              ? 'link'
              : 'other',
      }));
  } finally {
    await directory.close();
  }
}

/**
 * Yields what lies in a physical folder, each folder before what it holds.
 *
 * @throws the system's error when the first folder can't be read; those below are passed over
 */
export async function* walk(
  view: WorkspaceView,
  folder: string,
  options: WalkOptions = {},
): AsyncGenerator<WalkEntry, void, undefined> {
  const { recursive = true, maxEntries = MAX_WALK_ENTRIES } = options;
  let yielded = 0;
  const stack = (await readFolder(view, folder, '')).reverse();
  for (let entry = stack.pop(); entry !== undefined; entry = stack.pop()) {
    options.signal?.throwIfAborted();
    if (yielded >= maxEntries) return;
    yielded += 1;
    yield entry;
    if (!recursive || entry.kind !== 'directory') continue;
    if (entry.relative.split('/').length >= MAX_WALK_DEPTH) continue;
    try {
      const below = await readFolder(view, entry.path, entry.relative);
      for (let index = below.length - 1; index >= 0; index -= 1) {
        const each = below[index];
        if (each !== undefined) stack.push(each);
      }
    } catch (error) {
      // Gone, swapped or closed to us since it was listed: nothing of it is seen.
      if (!(error instanceof PathSwappedError) && errorCode(error) === null) throw error;
    }
  }
}

/** Whether an entry is a folder; a link counts as what it leads to, as long as that is allowed. */
export async function leadsToFolder(view: WorkspaceView, entry: WalkEntry): Promise<boolean> {
  if (entry.kind !== 'link') return entry.kind === 'directory';
  try {
    const target = await resolvePhysical(entry.path);
    if (!view.allows(target)) return false;
    await (await DirectoryHandle.open(target)).close();
    return true;
  } catch {
    return false;
  }
}
