/**
 * Where a path really leads. Unlike `fs.realpath` it also answers for what does not exist yet, dangling links
 * included, because a file that is about to be written is just that.
 *
 * @module
 */

import { lstat, readlink } from 'node:fs/promises';
import { dirname, join, parse } from 'node:path';

/** Links followed before a path counts as a loop (Linux's own number). */
export const MAX_LINKS = 40;

/** Longest path that is looked at. */
export const MAX_PATH_CHARS = 4096;

const SEPARATOR = process.platform === 'win32' ? /[\\/]+/ : /\/+/;

async function linkTarget(path: string): Promise<string | null> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : null;
  } catch {
    // Missing or unreadable: the rest of the path is taken as it is written; opening it will say what is wrong.
    return null;
  }
}

/**
 * Follows every link in an absolute path; `..` steps up from where the links led, as the kernel does it.
 *
 * @throws Error on a loop, an overlong path or a NUL byte
 */
export async function resolvePhysical(absolutePath: string): Promise<string> {
  if (absolutePath.includes('\0')) throw new Error('embedded null byte');
  if (absolutePath.length > MAX_PATH_CHARS) throw new Error('File name too long');
  let { root: current } = parse(absolutePath);
  const pending = absolutePath.slice(current.length).split(SEPARATOR).reverse();
  let links = 0;
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    if (part === '' || part === '.') continue;
    if (part === '..') {
      current = dirname(current);
      continue;
    }
    const next = join(current, part);
    const target = await linkTarget(next);
    if (target === null) {
      current = next;
      continue;
    }
    links += 1;
    if (links > MAX_LINKS) throw new Error('Too many levels of symbolic links');
    const { root } = parse(target);
    if (root !== '') current = root;
    pending.push(...target.slice(root.length).split(SEPARATOR).reverse());
    if (pending.length > MAX_PATH_CHARS) throw new Error('File name too long');
  }
  return current;
}

const FOLDS_CASE = process.platform === 'darwin' || process.platform === 'win32';

/** What two spellings of one path have in common where the file system ignores case. */
export function pathKey(path: string): string {
  return FOLDS_CASE ? path.toLowerCase() : path;
}

/** True when `path` is `root` or lies in it; both physical. A sibling with the same prefix does not. */
export function isWithin(path: string, root: string): boolean {
  const pathText = pathKey(path);
  const rootText = pathKey(root);
  if (pathText === rootText) return true;
  const separator = process.platform === 'win32' ? '\\' : '/';
  return pathText.startsWith(rootText.endsWith(separator) ? rootText : rootText + separator);
}
