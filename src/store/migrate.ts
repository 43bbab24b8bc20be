import type { Kysely } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { VoiceError } from '../errors.ts';
import * as m0001 from './migrations/0001-calls-turns.ts';
import * as m0002 from './migrations/0002-approvals.ts';
import * as m0003 from './migrations/0003-media.ts';
import * as m0004 from './migrations/0004-approval-guards.ts';
import * as m0005 from './migrations/0005-delivery-receipts.ts';
import type { Tables } from './tables.ts';

/** Every migration by its number, oldest first. A landed file is never edited (a test pins their content). */
export const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-calls-turns': m0001,
  '0002-approvals': m0002,
  '0003-media': m0003,
  '0004-approval-guards': m0004,
  '0005-delivery-receipts': m0005,
};

/**
 * Brings the schema up to date, each migration in a transaction; several nodes may start at once.
 *
 * @throws VoiceError `STORE_MIGRATION_FAILED`, also for a database that a newer version wrote
 */
export async function migrate(
  db: Kysely<Tables>,
  migrations: Readonly<Record<string, Migration>> = MIGRATIONS,
): Promise<void> {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...migrations }) } });
  const { error, results } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const failed = results?.find((result) => result.status === 'Error')?.migrationName;
  throw new VoiceError(
    'STORE_MIGRATION_FAILED',
    failed
      ? `The database could not be brought up to date: migration ${failed} failed and was rolled back.`
      : 'The database does not fit this version; was it written by a newer one?',
    { cause: error },
  );
}
