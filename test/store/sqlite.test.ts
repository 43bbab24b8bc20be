import { spawnSync } from 'node:child_process';
import { statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { describe, expect, it } from 'vitest';
import { beginSqliteThread, openStore } from '../../src/store/index.ts';
import { MAX_PENDING_REQUESTS, SqliteStore } from '../../src/store/sqlite/sqlite-store.ts';
import { storeContract } from './contract-suite.ts';
import { tempDir } from './temp.ts';

const dir = tempDir('store-sqlite');
const call = {
  id: 'c1',
  sessionKey: 'realtime:c1',
  carrier: 'wav',
  provider: 'command',
  identityStrength: 'none',
  startedAt: 1,
} as const;

describe('the store on SQLite', () => {
  storeContract(() => openStore({ engine: 'sqlite', file: join(dir, 'contract', 'calls.db') }));
});

describe('the thread of the SQLite store', () => {
  it('serves one store when it was begun before, and the next store has another', async () => {
    beginSqliteThread();
    beginSqliteThread();

    const first = await openStore({ engine: 'sqlite', file: join(dir, 'begun.db') });
    const second = await openStore({ engine: 'sqlite', file: join(dir, 'begun-2.db') });
    await first.beginCall(call);

    expect(await first.getCall('c1')).toMatchObject({ id: 'c1' });
    expect(await second.getCall('c1')).toBeNull();
    await Promise.all([first.close(), second.close()]);
  });

  it('holds up no process that opens no store', () => {
    const source = `
      const { beginSqliteThread } = await import(${JSON.stringify(new URL('../../src/store/index.ts', import.meta.url).href)});
      beginSqliteThread();
    `;

    const { status } = spawnSync(process.execPath, ['--input-type=module', '-e', source], {
      timeout: 10_000,
    });

    expect(status).toBe(0);
  });
});

describe('the SQLite file', () => {
  it('is readable by its owner alone, with its write-ahead log', async () => {
    const file = join(dir, 'mode.db');
    writeFileSync(file, '', { mode: 0o644 });

    const store = await openStore({ engine: 'sqlite', file });

    const modes = [file, `${file}-wal`, `${file}-shm`].map((path) => statSync(path).mode & 0o777);
    await store.close();
    expect(modes).toEqual([0o600, 0o600, 0o600]);
  });

  it('is in WAL mode and holds its rows over a restart', async () => {
    const file = join(dir, 'restart.db');
    const first = await openStore({ engine: 'sqlite', file });
    await first.beginCall(call);
    await first.close();

    const second = await openStore({ engine: 'sqlite', file });
    const found = await second.getCall('c1');
    await second.close();

    expect(found?.sessionKey).toBe('realtime:c1');
    const raw = new DatabaseSync(file, { readOnly: true });
    expect(raw.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' });
    raw.close();
  });

  it('that is no database is refused with a code', async () => {
    const file = join(dir, 'garbage.db');
    writeFileSync(file, 'this is not a database, it only says so in its name '.repeat(50));

    await expect(openStore({ engine: 'sqlite', file })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });

  it('in a folder that cannot be made is refused with a code', async () => {
    const file = join(dir, 'garbage.db', 'below-a-file', 'calls.db');

    await expect(openStore({ engine: 'sqlite', file })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

describe('the SQLite worker', () => {
  const slow = (name: string, testCommitDelayMs: number) =>
    SqliteStore.open({ file: join(dir, name), node: 'local', testCommitDelayMs });

  it('owes a bounded number of answers, refuses the next and takes requests again later', async () => {
    const store = await slow('full.db', 50);
    const writes = [store.beginCall(call)];
    while (store.pendingCount < MAX_PENDING_REQUESTS) writes.push(store.ping());

    await expect(store.ping()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE', retryable: true });
    await Promise.all(writes);

    await expect(store.ping()).resolves.toBeUndefined();
    expect(store.pendingCount).toBe(0);
    await store.close();
  });

  it('finishes what was asked before it closes, and refuses what comes after', async () => {
    const file = 'close.db';
    const store = await slow(file, 20);
    const begun = store.beginCall(call);

    const closed = store.close();
    await expect(store.ping()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await Promise.all([begun, closed, store.close()]);

    const reopened = await slow(file, 0);
    expect(await reopened.getCall('c1')).not.toBeNull();
    await reopened.close();
  });

  it('that crashes rejects every request with a code, at once and from then on', async () => {
    const file = join(dir, 'crash.db');
    const store = await SqliteStore.open({ file, node: 'local', testExitAtCommit: 2 });
    await store.beginCall(call);

    const lost = [store.beginCall({ ...call, id: 'c2' }), store.getCall('c1'), store.ping()];
    const outcomes = await Promise.allSettled(lost);

    expect(outcomes).toMatchObject(
      Array(3).fill({ status: 'rejected', reason: { code: 'STORE_UNAVAILABLE' } }),
    );
    await expect(store.getCall('c1')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await store.close();

    const reopened = await slow('crash.db', 0);
    expect(await reopened.getCall('c1')).not.toBeNull();
    expect(await reopened.getCall('c2')).toBeNull();
    await reopened.close();
  });
});
