/**
 * Which paths a tool may touch. The policy answers about physical paths only; `guarded-files.ts` makes sure that
 * the file that is opened is the file that was asked about.
 *
 * Follows nanobot 0.3.0, `security/workspace_policy.py`; stricter where our defaults are: restricted unless the
 * bound scope says otherwise, and reserved roots whatever it says.
 *
 * @module
 */

import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { currentWorkspaceScope } from '../../gateway/index.ts';
import { WorkspaceBoundaryError } from './boundary.ts';
import { isWithin, resolvePhysical } from './physical-path.ts';
import { ReservedRoots } from './reserved-roots.ts';

export interface WorkspacePolicyOptions {
  /** Workspace when no scope is bound; absolute. */
  readonly workspace: string;
  /** Config file, data folder, store: never reached by a tool. Our own package always is among them. */
  readonly reservedRoots?: readonly string[];
  /** Folders that may be read though they lie outside the workspace. */
  readonly readRoots?: readonly string[];
  /** What `~` stands for. @defaultValue the user's home folder */
  readonly home?: string;
}

export type FileAccess = 'read' | 'write';

/** The policy as it stands for one tool call. */
export class WorkspaceView {
  /** The workspace as configured; what refusals name. */
  readonly workspace: string;
  /** The workspace with every link followed. */
  readonly root: string;
  readonly restricted: boolean;
  readonly #home: string;
  readonly #readRoots: readonly string[];
  readonly #reserved: ReservedRoots;

  constructor(options: {
    workspace: string;
    root: string;
    restricted: boolean;
    home: string;
    readRoots: readonly string[];
    reserved: ReservedRoots;
  }) {
    this.workspace = options.workspace;
    this.root = options.root;
    this.restricted = options.restricted;
    this.#home = options.home;
    this.#readRoots = options.readRoots;
    this.#reserved = options.reserved;
  }

  /** Whether a physical path may be touched. */
  allows(physicalPath: string): boolean {
    if (this.#reserved.includes(physicalPath, this.root)) return false;
    if (!this.restricted || isWithin(physicalPath, this.root)) return true;
    return this.#readRoots.some((root) => isWithin(physicalPath, root));
  }

  /** Whether an opened file may be touched: a hard link to a reserved file may not. */
  allowsFile(file: { readonly dev: number; readonly ino: number }): boolean {
    return !this.#reserved.includesInode(file);
  }

  /** The absolute path a caller means, links not followed. */
  absolute(asGiven: string): string {
    if (/^~(?:\/|$)/.test(asGiven)) return join(this.#home, asGiven.slice(1));
    if (asGiven.startsWith('~')) throw WorkspaceBoundaryError.outside(asGiven, this.workspace);
    // Joined by hand: path.join would fold `link/..` before the link is followed.
    return isAbsolute(asGiven) ? asGiven : `${this.workspace}/${asGiven}`;
  }

  /**
   * The physical path a caller means.
   *
   * @throws WorkspaceBoundaryError when policy refuses it; Error when it can't be a path at all
   */
  async resolve(asGiven: string): Promise<string> {
    const physical = await resolvePhysical(this.absolute(asGiven));
    this.require(physical, asGiven);
    return physical;
  }

  /** @throws WorkspaceBoundaryError when the physical path is refused */
  require(physicalPath: string, asGiven: string): void {
    if (this.allows(physicalPath)) return;
    const outside =
      this.restricted &&
      !isWithin(physicalPath, this.root) &&
      !this.#readRoots.some((root) => isWithin(physicalPath, root));
    if (outside) throw WorkspaceBoundaryError.outside(asGiven, this.workspace);
    throw WorkspaceBoundaryError.reserved(asGiven);
  }
}

export class WorkspacePolicy {
  readonly #options: WorkspacePolicyOptions;

  constructor(options: WorkspacePolicyOptions) {
    this.#options = { ...options, workspace: resolve(options.workspace) };
  }

  /**
   * The policy for the call at hand: the bound workspace scope, or the default workspace, restricted, when none
   * is bound. Links in the roots are followed now, not when the policy was made.
   */
  async view(access: FileAccess): Promise<WorkspaceView> {
    const scope = currentWorkspaceScope();
    const workspace = scope === null ? this.#options.workspace : resolve(scope.workspace);
    const readRoots = access === 'read' ? (this.#options.readRoots ?? []) : [];
    return new WorkspaceView({
      workspace,
      root: await resolvePhysical(workspace),
      restricted: scope?.restrictToWorkspace ?? true,
      home: this.#options.home ?? homedir(),
      readRoots: await Promise.all(readRoots.map((root) => resolvePhysical(resolve(root)))),
      reserved: await ReservedRoots.snapshot(
        (this.#options.reservedRoots ?? []).map((root) => resolve(root)),
      ),
    });
  }
}
