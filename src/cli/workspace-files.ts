import { opendir } from 'node:fs/promises';

/** Files that a caller can name to the offline model. */
export const MAX_SPOKEN_FILES = 200;

/** Names of the files that lie in the workspace itself, hidden ones left out; what a caller can ask to have read. */
export async function workspaceFiles(workspace: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const entry of await opendir(workspace)) {
      if (entry.isFile() && !entry.name.startsWith('.')) names.push(entry.name);
      if (names.length >= MAX_SPOKEN_FILES) break;
    }
  } catch {
    // No workspace, nothing to name; the tools will say so themselves.
  }
  return names.sort();
}
