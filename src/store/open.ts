import { hostname } from 'node:os';
import type { FullStore } from './contract.ts';
import { dropSqliteThread, SqliteStore } from './sqlite/sqlite-store.ts';

export type StoreOptions =
  | {
      readonly engine: 'sqlite';
      /** Path of the database, made when it is not there; `:memory:` for one that is never written. */
      readonly file: string;
      /** Names this process among those that share the file. @defaultValue `local` */
      readonly node?: string;
      /** Tests only: makes every commit take this much longer. */
      readonly testCommitDelayMs?: number;
    }
  | {
      readonly engine: 'postgres';
      readonly url: string;
      /** Names this process among those that share the database; stays the same over its restarts. */
      readonly node?: string;
    };

/**
 * Opens the database and brings it up to date.
 *
 * @throws VoiceError `STORE_UNAVAILABLE` when it can't be reached, `STORE_MIGRATION_FAILED`
 */
export async function openStore(options: StoreOptions): Promise<FullStore> {
  switch (options.engine) {
    case 'sqlite':
      return SqliteStore.open({
        file: options.file,
        node: options.node ?? 'local',
        ...(options.testCommitDelayMs !== undefined && { testCommitDelayMs: options.testCommitDelayMs }),
      });
    case 'postgres': {
      dropSqliteThread();
      // With SQLite the queries run in its worker: this thread needs neither the driver nor the query builder.
      const { openPostgresStore } = await import('./postgres-store.ts');
      return openPostgresStore(options.url, options.node ?? hostname());
    }
    default:
      return options satisfies never;
  }
}
