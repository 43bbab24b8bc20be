/**
 * How the file tools report what went wrong.
 *
 * @module
 */

import type { ToolResult } from '../../gateway/index.ts';
import { WorkspaceBoundaryError } from '../guards/index.ts';
import { toolError } from '../registry-tool.ts';

/**
 * Runs a file operation; a refusal of policy or of the system's permissions is told as such, anything else after
 * `prefix`, e.g. `Error reading file`.
 */
export async function reportingFailure(
  prefix: string,
  signal: AbortSignal,
  work: () => Promise<ToolResult>,
): Promise<ToolResult> {
  try {
    return await work();
  } catch (error) {
    // A cancelled call is the registry's to report.
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    const isRefusal = error instanceof WorkspaceBoundaryError || message.startsWith('Permission denied');
    return toolError(`${isRefusal ? 'Error' : prefix}: ${message}`);
  }
}
