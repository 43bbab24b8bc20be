/**
 * A tool that takes its time, so that the demo's caller has to wait for one.
 *
 * @module
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, delay } from '../../clock.ts';
import type { Tool } from '../../host/index.ts';
import { workspaceFiles } from '../workspace-files.ts';

/** How long it takes, whatever it counts. */
export const COUNT_WORDS_MS = 4000;

export function countWordsTool(workspace: string, clock: Clock): Tool {
  return {
    name: 'count_words',
    description: 'Count the words in all files of the workspace.',
    parameters: { type: 'object', properties: {} },
    readOnly: true,
    async execute(_args, { signal }) {
      if (!(await delay(clock, COUNT_WORDS_MS, signal))) throw new Error('stopped');
      return clock.track(count(workspace));
    },
  };
}

async function count(workspace: string): Promise<string> {
  const files = await workspaceFiles(workspace);
  const texts = await Promise.all(files.map((file) => readFile(join(workspace, file), 'utf8')));
  const words = texts
    .join(' ')
    .split(/\s+/)
    .filter((word) => word !== '');
  return `There are ${words.length} words in ${files.length} files.`;
}
