/** Session files that several processes write: each a `Sessions` of its own over one folder. */

import { mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realClock } from '../../../src/clock.ts';
import { LOCK_STALE_MS } from '../../../src/host/sessions/file-lock.ts';
import { Sessions } from '../../../src/host/sessions/index.ts';
import type { TurnRow } from '../../../src/store/index.ts';

const KEY = 'realtime:owner';
let directory = '';
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'sessions-'));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const open = () => new Sessions({ directory, clock: realClock, isShared: true });
const turn = (callId: string, text: string): TurnRow => ({
  callId,
  turn: 1,
  sessionKey: KEY,
  startedAt: 1000,
  userText: text,
  assistantText: null,
  tools: [],
  finalAt: 2000,
});

async function texts(sessions: Sessions): Promise<unknown[]> {
  return (await sessions.get(KEY)).rows.map(({ content }) => content);
}

describe('session files of several processes', () => {
  it('hold what each of them wrote, once, although both have the file in memory', async () => {
    const [one, two] = [open(), open()];
    await one.append(KEY, [{ role: 'user', content: 'first' }]);
    expect(await texts(two)).toEqual(['first']);
    const work = [one, two].flatMap((each, who) => [
      ...Array.from({ length: 10 }, (_, index) =>
        each.append(KEY, [{ role: 'user', content: `${who}.${index}` }]),
      ),
      // The same turn, brought in by both.
      each.project(KEY, [turn('a'.repeat(32), 'spoken')]),
    ]);
    await Promise.all(work);
    const all = await texts(one);
    expect(all).toHaveLength(22);
    expect(all.filter((text) => text === 'spoken')).toHaveLength(1);
    expect(await texts(two)).toEqual(all);
    expect(readdirSync(directory)).toHaveLength(1);
  });

  it('are not locked for ever by a process that died', async () => {
    const lock = join(directory, `${Buffer.from(KEY).toString('base64url')}.jsonl.lock`);
    writeFileSync(lock, '');
    const old = (Date.now() - LOCK_STALE_MS - 1000) / 1000;
    utimesSync(lock, old, old);
    const sessions = open();
    await sessions.append(KEY, [{ role: 'user', content: 'on' }]);
    expect(await texts(sessions)).toEqual(['on']);
    expect(readdirSync(directory)).not.toContain(lock.split('/').at(-1));
  });
});
