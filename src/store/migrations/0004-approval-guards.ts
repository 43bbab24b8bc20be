import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';

/**
 * What keeps guessing and repeating out over restarts and over processes, and the number that every change of an approval
 * gets, so that other processes can follow. Never edited after it landed: add the next number.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Of the last change of the record; rises over all records.
  await db.schema
    .alterTable('approvals')
    .addColumn('change_no', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.createIndex('approvals_change').on('approvals').column('change_no').execute();

  // One row each; updating it takes the lock that makes a count and an insert one step.
  await db.schema
    .createTable('approval_counters')
    .addColumn('name', 'text', (column) => column.primaryKey())
    .addColumn('value', 'bigint', (column) => column.notNull())
    .addColumn('salt', 'text', (column) => column.notNull())
    .execute();
  for (const name of ['changes', 'pin_tries', 'messages']) {
    const salt = randomBytes(16).toString('hex');
    await db
      .withTables<{ approval_counters: { name: string; value: number; salt: string } }>()
      .insertInto('approval_counters')
      .values({ name, value: 0, salt })
      .execute();
  }

  await db.schema
    .createTable('approval_pin_tries')
    .addColumn('id', 'text', (column) => column.primaryKey())
    // A slow, salted hash of the number; never the number.
    .addColumn('number_hash', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('approval_pin_tries_at').on('approval_pin_tries').column('at').execute();

  await db.schema
    .createTable('approval_messages')
    .addColumn('key_hash', 'text', (column) => column.primaryKey())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('approval_messages_at').on('approval_messages').column('at').execute();
}
