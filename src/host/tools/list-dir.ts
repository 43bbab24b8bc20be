/**
 * `list_dir`: what lies in a folder.
 *
 * @module
 */

import { asRefusal, errorCode, leadsToFolder, type WorkspacePolicy, walk } from '../guards/index.ts';
import { type Tool, toolError, toolText } from '../registry-tool.ts';
import { flagArg, integerArg, strictParameters, textArg } from './arguments.ts';
import { reportingFailure } from './file-failure.ts';

/** Entries shown when the call doesn't say. */
export const DEFAULT_LIST_ENTRIES = 200;

export function listDirTool(policy: WorkspacePolicy): Tool {
  return {
    name: 'list_dir',
    description:
      'List a folder. Set recursive to see everything below it. Folders of tools and caches (.git, node_modules, ' +
      '__pycache__ and the like) are left out.',
    parameters: strictParameters(
      {
        path: { type: 'string', description: 'The folder to list, relative to the workspace' },
        recursive: { type: 'boolean', description: 'List everything below as well (default false)' },
        max_entries: {
          type: 'integer',
          minimum: 1,
          description: `Most entries to return (default ${DEFAULT_LIST_ENTRIES})`,
        },
      },
      ['path'],
    ),
    readOnly: true,
    execute: (args, { signal }) =>
      reportingFailure('Error listing directory', signal, async () => {
        const path = textArg(args, 'path') ?? '';
        const recursive = flagArg(args, 'recursive');
        const cap = integerArg(args, 'max_entries') ?? DEFAULT_LIST_ENTRIES;
        const view = await policy.view('read');
        const folder = await view.resolve(path);
        const items: string[] = [];
        let total = 0;
        try {
          for await (const entry of walk(view, folder, { recursive, signal })) {
            total += 1;
            if (items.length >= cap) continue;
            const folderEntry = await leadsToFolder(view, entry);
            if (recursive) items.push(folderEntry ? `${entry.relative}/` : entry.relative);
            else items.push(`${folderEntry ? '📁' : '📄'} ${entry.name}`);
          }
        } catch (error) {
          if (errorCode(error) === 'ENOENT') return toolError(`Error: Directory not found: ${path}`);
          if (errorCode(error) === 'ENOTDIR') return toolError(`Error: Not a directory: ${path}`);
          throw asRefusal(error, path);
        }
        if (total === 0) return toolText(`Directory ${path} is empty`);
        const note = total > cap ? `\n\n(truncated, showing first ${cap} of ${total} entries)` : '';
        return toolText(items.join('\n') + note);
      }),
  };
}
