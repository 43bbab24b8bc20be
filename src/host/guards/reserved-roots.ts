/**
 * What no file tool reaches, whatever the config says: this package, the kernel's own file systems, and the
 * roots the host names (config file, data folder, store).
 *
 * @module
 */

import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isWithin, pathKey, resolvePhysical } from './physical-path.ts';

const PACKAGE_ROOT = dirname(fileURLToPath(new URL('../../../package.json', import.meta.url)));

/** The `node_modules` we are installed in, our dependencies beside us: writing there is writing our code. */
const INSTALLED_IN = /^(.*[\\/]node_modules)[\\/]/.exec(PACKAGE_ROOT)?.[1];

/** Our code: reserved even to a workspace that lies inside it. */
const CODE = ['src', 'dist', 'bin', 'web', 'python', 'node_modules', 'package.json', 'plugin.json', '.git'];

/** `/proc/self/environ` is where the keys are; `/dev` never ends. */
const KERNEL = ['/proc', '/sys', '/dev'];

let hardRoots: Promise<readonly string[]> | null = null;

/** These never move while we run, so their links are followed once. */
function resolveHardRoots(): Promise<readonly string[]> {
  const code = CODE.map((name) => join(PACKAGE_ROOT, name));
  const installed = INSTALLED_IN === undefined ? [] : [INSTALLED_IN];
  hardRoots ??= Promise.all([...code, ...installed, ...KERNEL].map(resolvePhysical));
  return hardRoots;
}

/** Physical reserved roots, as they are at one moment. */
export class ReservedRoots {
  readonly #hard: readonly string[];
  readonly #soft: readonly string[];
  readonly #inodes: ReadonlySet<string>;

  private constructor(hard: readonly string[], soft: readonly string[], inodes: ReadonlySet<string>) {
    this.#hard = hard;
    this.#soft = soft;
    this.#inodes = inodes;
  }

  /** @param roots - absolute paths of files or folders; they need not exist yet */
  static async snapshot(roots: readonly string[]): Promise<ReservedRoots> {
    const soft = [PACKAGE_ROOT, ...roots];
    const inodes = new Set<string>();
    for (const root of roots) {
      const found = await stat(root).catch(() => null);
      if (found?.isFile()) inodes.add(`${found.dev}:${found.ino}`);
    }
    return new ReservedRoots(await resolveHardRoots(), await Promise.all(soft.map(resolvePhysical)), inodes);
  }

  /**
   * Whether a physical path is reserved. A workspace that lies inside a reserved folder (nanobot's own default
   * does: `~/.nanobot/workspace`) stays usable; a reserved folder inside a workspace stays reserved.
   */
  includes(path: string, workspace: string): boolean {
    if (this.#hard.some((root) => isWithin(path, root))) return true;
    return this.#soft.some((root) => {
      if (!isWithin(path, root)) return false;
      const carvedOut =
        pathKey(workspace) !== pathKey(root) && isWithin(workspace, root) && isWithin(path, workspace);
      return !carvedOut;
    });
  }

  /** Whether an opened file is a reserved file under another name, i.e. a hard link to it. */
  includesInode(file: { readonly dev: number; readonly ino: number }): boolean {
    return this.#inodes.has(`${file.dev}:${file.ino}`);
  }
}
