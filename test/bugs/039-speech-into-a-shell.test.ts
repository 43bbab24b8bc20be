// Elsewhere: what the caller had said was put into a command line between quotes.

import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, placeCall } from './line.ts';

const SRC = fileURLToPath(new URL('../../src/', import.meta.url));

function files(folder: string): string[] {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? files(path) : path.endsWith('.ts') ? [path] : [];
  });
}

describe('bug 39: a caller who dictates a command', () => {
  it('is data from end to end', async () => {
    const marker = '/tmp/nanobot-bug-39';
    rmSync(marker, { force: true });
    const words = `"; touch ${marker}; $(touch ${marker}) \`touch ${marker}\` "`;
    const line = await placeCall({
      tools: { note: 'noted' },
      hears: [words],
      turns: ({ heard }) => (heard === null ? [say('Noted.')] : [call('note', { text: heard })]),
    });
    const { clock, gateway, store } = line;
    await callerSays(line);
    await clock.advance(3000);
    await hangUp(line);

    expect(gateway.calls[0]!.args).toEqual({ text: words });
    expect([...store.turns.values()].map((turn) => turn.userText)).toContain(words);
    expect(existsSync(marker)).toBe(false);
  });

  it('finds no process to start but in the host’s guarded tools, and our own workers', () => {
    const starters = files(SRC).filter((file) =>
      /node:child_process|'child_process'/.test(readFileSync(file, 'utf8')),
    );
    const rooms = new Set(starters.map((file) => relative(SRC, file).split('/').slice(0, 2).join('/')));
    for (const room of rooms)
      expect(['host/tools', 'host/mcp', 'host/guards', 'workers/worker-handle.ts']).toContain(room);
    for (const file of starters)
      expect(readFileSync(file, 'utf8'), relative(SRC, file)).not.toMatch(/shell:\s*true/);
  });
});
