import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { realClock } from '../../../src/clock.ts';
import {
  MAX_CACHED_SESSIONS,
  MAX_PENDING_SESSION_WORK,
  MAX_SESSION_KEY_BYTES,
  MAX_SESSION_ROWS,
  Sessions,
} from '../../../src/host/sessions/index.ts';

const base = mkdtempSync(join(tmpdir(), 'sessions-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

let directory = '';
let now = 0;
let round = 0;
const clock = { ...realClock, wallNow: () => now };
const open = () => new Sessions({ directory, clock });
const fileOf = (key: string) => join(directory, `${Buffer.from(key).toString('base64url')}.jsonl`);
const linesOf = (key: string) =>
  readFileSync(fileOf(key), 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

beforeEach(() => {
  round += 1;
  directory = join(base, `${round}`);
  now = Date.UTC(2026, 0, 2, 3, 4, 5);
});

describe('a session file', () => {
  it('has the metadata in its first line and a row in each other, under the key as base64url', async () => {
    const sessions = open();
    await sessions.append('realtime:a/b', [{ role: 'user', content: 'hi' }]);
    now += 1000;

    await sessions.append('realtime:a/b', [
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 't1', type: 'function', function: { name: 'list_dir', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 't1', name: 'list_dir', content: 'a.txt' },
      { role: 'assistant', content: 'One file.' },
    ]);

    expect(readdirSync(directory)).toEqual(['cmVhbHRpbWU6YS9i.jsonl']);
    expect(linesOf('realtime:a/b')).toEqual([
      {
        _type: 'metadata',
        key: 'realtime:a/b',
        created_at: '2026-01-02T03:04:05.000Z',
        updated_at: '2026-01-02T03:04:06.000Z',
        metadata: {},
        last_consolidated: 0,
      },
      { timestamp: '2026-01-02T03:04:05.000Z', role: 'user', content: 'hi' },
      {
        timestamp: '2026-01-02T03:04:06.000Z',
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 't1', type: 'function', function: { name: 'list_dir', arguments: '{}' } }],
      },
      {
        timestamp: '2026-01-02T03:04:06.000Z',
        role: 'tool',
        tool_call_id: 't1',
        name: 'list_dir',
        content: 'a.txt',
      },
      { timestamp: '2026-01-02T03:04:06.000Z', role: 'assistant', content: 'One file.' },
    ]);
  });

  it('is its owner’s alone', async () => {
    await open().append('k', [{ role: 'user', content: 'x' }]);

    expect(statSync(fileOf('k')).mode & 0o777).toBe(0o600);
    expect(statSync(directory).mode & 0o777).toBe(0o700);
  });

  it('is not made by reading', async () => {
    const session = await open().get('nobody');

    expect(session.rows).toEqual([]);
    expect(existsSync(fileOf('nobody'))).toBe(false);
  });

  it('keeps what nanobot wrote there and we do not know', async () => {
    await open().append('k', [{ role: 'user', content: 'x' }]);
    const [head = {}, row = {}] = linesOf('k');
    const foreign = [
      { ...head, metadata: { policy: { disabled_tools: ['exec'] } }, last_consolidated: 1 },
      { ...row, latency_ms: 12, _command: true },
    ];
    writeFileSync(fileOf('k'), foreign.map((line) => JSON.stringify(line)).join('\n'));

    const sessions = open();
    await sessions.append('k', [{ role: 'assistant', content: 'y' }]);

    const [metadata, kept] = linesOf('k');
    expect(metadata).toMatchObject({
      metadata: { policy: { disabled_tools: ['exec'] } },
      last_consolidated: 1,
    });
    expect(kept).toMatchObject({ content: 'x', latency_ms: 12, _command: true });
    expect((await sessions.get('k')).metadata).toEqual({ policy: { disabled_tools: ['exec'] } });
  });

  it('survives a crash that left a half-written temporary file', async () => {
    await open().append('k', [{ role: 'user', content: 'before' }]);
    writeFileSync(`${fileOf('k')}.tmp`, '{"_type":"metadata","key":"k","crea');

    const sessions = open();
    await sessions.append('k', [{ role: 'user', content: 'after' }]);

    expect((await open().get('k')).rows.map((row) => row.content)).toEqual(['before', 'after']);
    expect(readdirSync(directory)).toEqual([expect.stringMatching(/\.jsonl$/)]);
  });

  it('that is damaged keeps its readable rows, and a copy as it was', async () => {
    await open().append('k', [
      { role: 'user', content: 'one' },
      { role: 'user', content: 'two' },
    ]);
    const damaged = `${readFileSync(fileOf('k'), 'utf8')}{"role":"user","cont`;
    writeFileSync(fileOf('k'), damaged);

    const session = await open().get('k');

    expect(session.rows.map((row) => row.content)).toEqual(['one', 'two']);
    expect(readFileSync(`${fileOf('k')}.damaged`, 'utf8')).toBe(damaged);
    expect(linesOf('k')).toHaveLength(3);
  });

  it('holds a bounded number of rows, and never begins with a tool result whose call is gone', async () => {
    const sessions = open();
    const tool = (id: number) => ({ role: 'tool', tool_call_id: `${id}`, name: 'x', content: '' }) as const;
    const rows = Array.from({ length: MAX_SESSION_ROWS }, (_, index) => tool(index));
    await sessions.append('k', [{ role: 'assistant', content: null }, ...rows.slice(0, 3)]);
    await sessions.append('k', [{ role: 'user', content: 'kept' }, ...rows.slice(0, -2)]);

    const { rows: kept } = await sessions.get('k');

    expect(kept).toHaveLength(MAX_SESSION_ROWS - 1);
    expect(kept[0]).toMatchObject({ role: 'user', content: 'kept' });
    expect(linesOf('k')).toHaveLength(MAX_SESSION_ROWS);
  });
});

describe('the sessions', () => {
  it('lose no row of many writers at once', async () => {
    const sessions = open();

    await Promise.all(
      Array.from({ length: 60 }, (_, index) =>
        sessions.append(`k${index % 3}`, [{ role: 'user', content: `${index}` }]),
      ),
    );

    const reread = open();
    for (const key of [0, 1, 2]) {
      const contents = (await reread.get(`k${key}`)).rows.map((row) => Number(row.content));
      expect(contents).toEqual(Array.from({ length: 20 }, (_, index) => index * 3 + key));
    }
  });

  it('are kept in memory up to a bound, and read again after that', async () => {
    const sessions = open();
    await sessions.append('first', [{ role: 'user', content: 'kept' }]);
    for (let index = 0; index < MAX_CACHED_SESSIONS; index += 1) await sessions.get(`other-${index}`);

    expect(sessions.cachedCount).toBe(MAX_CACHED_SESSIONS);
    expect((await sessions.get('first')).rows).toHaveLength(1);
    expect(sessions.cachedCount).toBe(MAX_CACHED_SESSIONS);
  });

  it('take a bounded number of reads and writes at once', async () => {
    const sessions = open();
    const work = Array.from({ length: MAX_PENDING_SESSION_WORK + 1 }, () => sessions.get('k'));

    const outcomes = await Promise.allSettled(work);

    expect(outcomes.filter((each) => each.status === 'rejected')).toMatchObject([
      { reason: { code: 'HOST_UNAVAILABLE' } },
    ]);
    await expect(sessions.get('k')).resolves.toMatchObject({ key: 'k' });
  });

  it('refuse a key that is too long for a file name, with a code, and take one that just fits', async () => {
    const sessions = open();

    await sessions.append('k'.repeat(MAX_SESSION_KEY_BYTES), [{ role: 'user', content: 'x' }]);

    await expect(sessions.get('k'.repeat(MAX_SESSION_KEY_BYTES + 1))).rejects.toMatchObject({
      code: 'REQUEST_INVALID',
    });
  });

  it('cannot be led out of their folder by a key', async () => {
    const sessions = open();

    await sessions.append('../../../etc/passwd', [{ role: 'user', content: 'x' }]);
    await sessions.append('a\0b', [{ role: 'user', content: 'x' }]);

    expect(readdirSync(directory)).toHaveLength(2);
    expect(readdirSync(base).filter((name) => !/^\d+$/.test(name))).toEqual([]);
  });

  it('remember only what is on the disk', async () => {
    const sessions = open();
    await sessions.append('k', [{ role: 'user', content: 'there' }]);
    rmSync(directory, { recursive: true });
    writeFileSync(directory, 'a file where the folder was');

    await expect(sessions.append('k', [{ role: 'user', content: 'lost' }])).rejects.toMatchObject({
      code: 'HOST_UNAVAILABLE',
    });

    rmSync(directory);
    expect((await sessions.get('k')).rows).toEqual([]);
  });

  it('have written everything when a flush is done', async () => {
    const sessions = open();
    void sessions.append('k', [{ role: 'user', content: 'x' }]);

    await sessions.flush();

    expect(existsSync(fileOf('k'))).toBe(true);
  });
});
