/**
 * `send_file`: a file of the workspace, by what is in it and not by what it is called.
 *
 * @module
 */

import { basename } from 'node:path';
import { MAX_ATTACHMENT_BYTES } from '../../../media/index.ts';
import { isWithin, readGuarded, type WorkspacePolicy } from '../../guards/index.ts';
import { strictParameters, textArg } from '../arguments.ts';
import type { MediaToolDefinition } from './media-tool.ts';

export const SEND_FILE = 'send_file';

/** Always within the workspace, whatever `restrictToWorkspace` says: what is sent leaves the house. */
export function sendFile(policy: WorkspacePolicy): MediaToolDefinition {
  return {
    name: SEND_FILE,
    description: 'Send the caller a file from the workspace.',
    parameters: strictParameters(
      {
        path: {
          type: 'string',
          minLength: 1,
          maxLength: 1000,
          description: 'Path of the file in the workspace',
        },
        caption: { type: 'string', maxLength: 300, description: 'A few words that are shown with it' },
      },
      ['path'],
    ),
    async make(args) {
      const path = textArg(args, 'path') ?? '';
      const view = await policy.view('read');
      const physical = await view.resolve(path);
      if (!isWithin(physical, view.root)) throw new Error('outside the workspace');
      const file = await readGuarded(view, physical, path, MAX_ATTACHMENT_BYTES);
      if (file.kind !== 'file') throw new Error(`there is no such file to send (${file.kind})`);
      const name = basename(file.path);
      const caption = textArg(args, 'caption')?.trim() || name;
      return {
        bytes: file.bytes,
        name,
        caption,
        fallback: `I have the file ${name} for you, but I can not send it on this line.`,
      };
    },
  };
}
