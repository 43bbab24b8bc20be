/**
 * The refusals of the workspace policy, in nanobot's words (`security/workspace_policy.py`).
 *
 * @module
 */

const HARD_BOUNDARY =
  ' (this is a hard policy boundary, not a transient failure; do not retry with shell tricks or alternative ' +
  'tools, and ask the user how to proceed if the resource is genuinely required)';

/** A path that policy keeps a tool from. The message holds the path only as the caller gave it. */
export class WorkspaceBoundaryError extends Error {
  override readonly name = 'WorkspaceBoundaryError';

  /** Refuses a path outside the workspace. */
  static outside(asGiven: string, workspace: string): WorkspaceBoundaryError {
    return new WorkspaceBoundaryError(
      `Path ${asGiven} is outside allowed directory ${workspace}${HARD_BOUNDARY}`,
    );
  }

  /** Refuses what no tool reaches whatever the config says: our own config, data and code. */
  static reserved(asGiven: string): WorkspaceBoundaryError {
    return new WorkspaceBoundaryError(`Path ${asGiven} is reserved for the host${HARD_BOUNDARY}`);
  }

  /** Refuses a path that led somewhere else when it was opened than when it was checked. */
  static swapped(asGiven: string): WorkspaceBoundaryError {
    return new WorkspaceBoundaryError(`Path ${asGiven} changed while it was being opened${HARD_BOUNDARY}`);
  }
}

/** The paragraph that a refused shell command carries. */
export const EXEC_BOUNDARY_NOTE =
  '\n\nNote: this is a hard policy boundary, not a transient failure. Another spelling of the command, a link, an ' +
  'encoded path or another working directory will be refused as well. If the user really needs this, say that ' +
  'the workspace restriction keeps it out of reach and ask how to go on.';
