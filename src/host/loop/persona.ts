import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';

/** Files of the workspace that say who the agent is, in the order they are read; nanobot's bootstrap files. */
export const PERSONA_FILES: readonly string[] = [
  'AGENTS.md',
  'SOUL.md',
  'USER.md',
  'TOOLS.md',
  'IDENTITY.md',
];
/** Bytes of each that are read. */
export const MAX_PERSONA_FILE_BYTES = 20_000;

/** No links: a tool that can make one could have any file told to the model. No waiting for a pipe either. */
const FLAGS = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** The persona files that are there, each under its name; an empty text when there are none. */
export async function readPersona(workspace: string): Promise<string> {
  const parts = await Promise.all(PERSONA_FILES.map((name) => readPart(workspace, name)));
  return parts.filter((part) => part !== null).join('\n\n');
}

async function readPart(workspace: string, name: string): Promise<string | null> {
  try {
    const file = await open(join(workspace, name), FLAGS);
    try {
      const { buffer, bytesRead } = await file.read(
        Buffer.alloc(MAX_PERSONA_FILE_BYTES),
        0,
        MAX_PERSONA_FILE_BYTES,
        0,
      );
      const text = buffer.toString('utf8', 0, bytesRead).trim();
      return text === '' ? null : `## ${name}\n\n${text}`;
    } finally {
      await file.close();
    }
  } catch {
    // Not there, or not readable: the agent is then without it, as in nanobot.
    return null;
  }
}
