import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Kysely, sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { MIGRATIONS, migrate } from '../../src/store/migrate.ts';
import { createSqliteDialect } from '../../src/store/sqlite/dialect.ts';
import type { Tables } from '../../src/store/tables.ts';

const FOLDER = new URL('../../src/store/migrations/', import.meta.url);

/** SHA-256 of each migration that has landed. A new one gets a new line; a line never changes. */
const LANDED: Record<string, string> = {
  '0001-calls-turns.ts': 'abcdfaf5c233e5f3cfe606aae63ecae690ccef4ed8c9deae0dba42d46b8898e9',
  '0002-approvals.ts': 'b80a151c41ddd018c83408aeaea0f07e9fa273ba71261c77bcd8ae3a3341c9e8',
  '0003-media.ts': '0c1b6a3e57e8f5976d5320ea67e2d479de85e6b4209655157012f7e57dff30ee',
  '0004-approval-guards.ts': '303ea885fc0df01a9561dd2fa0a4b3b40186966fdb08cec8a29febc9cb5eabac',
  '0005-delivery-receipts.ts': '8d44b618b73a627b3c19f3410ef54854c125b6a7917f5446801af6251206df3b',
};

const open = () => new Kysely<Tables>({ dialect: createSqliteDialect(new DatabaseSync(':memory:')) });

describe('the migrations', () => {
  it('are never edited after they landed', () => {
    const found = readdirSync(FOLDER).sort();
    const hashes = found.map((name) => [
      name,
      createHash('sha256')
        .update(readFileSync(new URL(name, FOLDER)))
        .digest('hex'),
    ]);

    expect(Object.fromEntries(hashes)).toEqual(LANDED);
  });

  it('are all listed, numbered without a gap', () => {
    const files = readdirSync(FOLDER).sort();

    expect(Object.keys(MIGRATIONS).map((name) => `${name}.ts`)).toEqual(files);
    expect(files.map((name) => Number(name.slice(0, 4)))).toEqual(files.map((_, index) => index + 1));
  });

  it('run once: a second start finds nothing to do', async () => {
    const db = open();
    await migrate(db);
    await migrate(db);

    const rows = await sql<{ name: string }>`select name from kysely_migration`.execute(db);
    expect(rows.rows.map((row) => row.name)).toEqual(Object.keys(MIGRATIONS));
    await db.destroy();
  });

  it('that fail are rolled back and named', async () => {
    const db = open();
    const broken = {
      ...MIGRATIONS,
      '9999-broken': {
        async up(trx: Kysely<unknown>) {
          await trx.schema.createTable('half').addColumn('a', 'text').execute();
          throw new Error('no');
        },
      },
    };

    await expect(migrate(db, broken)).rejects.toMatchObject({
      code: 'STORE_MIGRATION_FAILED',
      message: expect.stringContaining('9999-broken'),
    });

    const tables = await sql<{ name: string }>`select name from sqlite_master where name = 'half'`.execute(
      db,
    );
    expect(tables.rows).toEqual([]);
    await db.destroy();
  });

  it('refuse a database that a newer version wrote', async () => {
    const db = open();
    await migrate(db, { ...MIGRATIONS, '9999-newer': { up: async () => {} } });

    await expect(migrate(db)).rejects.toMatchObject({ code: 'STORE_MIGRATION_FAILED' });
    await db.destroy();
  });
});
