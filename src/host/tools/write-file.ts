/**
 * `write_file`: a whole file, new or replaced.
 *
 * @module
 */

import { currentFileStates } from '../../gateway/index.ts';
import { type PathLocks, type WorkspacePolicy, writeGuarded } from '../guards/index.ts';
import { type Tool, toolText } from '../registry-tool.ts';
import { strictParameters, textArg } from './arguments.ts';
import { reportingFailure } from './file-failure.ts';
import { characterCount } from './text-lines.ts';

export function writeFileTool(policy: WorkspacePolicy, locks: PathLocks): Tool {
  return {
    name: 'write_file',
    description:
      'Create a file, or replace the whole content of one. Missing folders are created. Use edit_file to change ' +
      'a part of a file.',
    parameters: strictParameters(
      {
        path: { type: 'string', description: 'The file to write, relative to the workspace' },
        content: { type: 'string', description: 'The whole new content' },
      },
      ['path', 'content'],
    ),
    execute: (args, { signal }) =>
      reportingFailure('Error writing file', signal, async () => {
        const path = textArg(args, 'path');
        const content = textArg(args, 'content');
        if (path === null || path === '') throw new Error('Unknown path');
        if (content === null) throw new Error('Unknown content');
        const view = await policy.view('write');
        const physical = await view.resolve(path);
        return locks.run(physical, async () => {
          signal.throwIfAborted();
          const fingerprint = await writeGuarded(view, physical, path, Buffer.from(content, 'utf8'));
          currentFileStates()?.recordWrite(physical, fingerprint);
          return toolText(`Successfully wrote ${characterCount(content)} characters to ${physical}`);
        });
      }),
  };
}
