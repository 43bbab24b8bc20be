import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/index.ts';
import { tempDir } from './temp.ts';

const dir = tempDir('store-crash');
const writer = fileURLToPath(new URL('./crash-writer.ts', import.meta.url));

/** Kills the writer the hard way once it has acknowledged `after` turns; resolves to the last one it named. */
async function killWriter(file: string, callId: string, after: number): Promise<number> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', writer, file, callId], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let acknowledged = -1;
  createInterface({ input: child.stdout }).on('line', (line) => {
    acknowledged = Number(line);
    if (acknowledged >= after) child.kill('SIGKILL');
  });
  await once(child, 'close');
  expect(child.signalCode).toBe('SIGKILL');
  return acknowledged;
}

describe('a process killed while it writes', () => {
  it('leaves every acknowledged turn whole and none in halves', async () => {
    const file = join(dir, 'calls.db');

    // The same file over and over, killed at different moments.
    for (const [round, after] of [3, 17, 41].entries()) {
      const callId = `call-${round}`;
      const acknowledged = await killWriter(file, callId, after);

      const store = await openStore({ engine: 'sqlite', file });
      const turns = (await store.listTurns('realtime:crash', 1000)).filter((turn) => turn.callId === callId);
      const whole = turns.filter((turn) => turn.finalAt !== null);
      const open = turns.filter((turn) => turn.finalAt === null);
      expect(whole.length).toBeGreaterThanOrEqual(acknowledged + 1);
      for (const turn of whole) {
        expect(turn).toMatchObject({ userText: `u${turn.turn}`, assistantText: `a${turn.turn}` });
        expect(turn.tools.map((tool) => tool.callId)).toEqual(['one', 'two']);
      }
      // At most the turn that was being written is open, and it holds nothing yet.
      expect(open.length).toBeLessThanOrEqual(1);
      for (const turn of open) expect(turn).toMatchObject({ userText: null, assistantText: null, tools: [] });

      expect(await store.closeStaleCalls(99)).toBe(1);
      await store.close();
    }

    const raw = new DatabaseSync(file, { readOnly: true });
    expect(raw.prepare('PRAGMA integrity_check').get()).toEqual({ integrity_check: 'ok' });
    expect(raw.prepare('PRAGMA foreign_key_check').all()).toEqual([]);
    raw.close();
  });
});
