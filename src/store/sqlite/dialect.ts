import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { SqliteAdapter, type SqliteDatabase, SqliteDialect } from 'kysely';

/** Opens the file (mode 0600; made with its folder when it is not there) as architecture asks for it. */
export function openDatabase(file: string): DatabaseSync {
  if (file !== ':memory:') {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // Made before SQLite opens it, so that the file is never readable by others; -wal and -shm take its mode.
    closeSync(openSync(file, 'a', 0o600));
    chmodSync(file, 0o600);
  }
  const database = new DatabaseSync(file, { enableForeignKeyConstraints: true, timeout: 5000 });
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;');
  return database;
}

/** Kysely leaves it off, but SQLite does roll back what changed the schema: a failed migration leaves nothing. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class TransactionalSqliteDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter();
  }
}

/** Kysely speaks better-sqlite3's dialect of a statement; `node:sqlite` spreads its parameters. */
export function createSqliteDialect(database: DatabaseSync, beforeCommit?: () => void): SqliteDialect {
  const adapter: SqliteDatabase = {
    close: () => database.close(),
    prepare(sql) {
      // Every transaction of ours writes. One that begins to read and writes later is refused where another process wrote
      // in between, and waiting would not help it.
      const statement = database.prepare(sql === 'begin' ? 'begin immediate' : sql);
      const bind = (parameters: readonly unknown[]) => parameters as readonly SQLInputValue[];
      return {
        reader: statement.columns().length > 0,
        all: (parameters) => statement.all(...bind(parameters)),
        iterate: (parameters) => statement.iterate(...bind(parameters)),
        run(parameters) {
          // A commit, or a write outside a transaction: where SQLite waits for the disk.
          if (beforeCommit && (sql === 'commit' || !database.isTransaction) && sql !== 'begin')
            beforeCommit();
          return statement.run(...bind(parameters));
        },
      };
    },
  };
  return new TransactionalSqliteDialect({ database: adapter });
}
