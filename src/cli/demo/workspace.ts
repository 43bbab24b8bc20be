/**
 * What the demo's agent works in: a folder of its own with a few files, gone when the demo ends.
 *
 * @module
 */

import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const FILES: Readonly<Record<string, string>> = {
  'notes.txt': 'Call the dentist on Monday. The train to Paris leaves at seven. Buy bread and coffee.\n',
  'report.txt': 'The first quarter was good. Sales grew by ten percent.\n',
  'plan.txt': 'Paint the kitchen in June.\n',
};

export interface DemoFolders {
  /** The agent's workspace. */
  readonly workspace: string;
  /** Config, sessions and database; no tool reaches it. */
  readonly home: string;
  remove(): Promise<void>;
}

export async function createDemoFolders(): Promise<DemoFolders> {
  const root = await mkdtemp(join(tmpdir(), 'nanobot-realtime-demo-'));
  const workspace = join(root, 'workspace');
  const home = join(root, 'home');
  await mkdir(workspace);
  await mkdir(home, { mode: 0o700 });
  for (const [name, text] of Object.entries(FILES)) await writeFile(join(workspace, name), text);
  return { workspace, home, remove: () => rm(root, { recursive: true, force: true }) };
}
