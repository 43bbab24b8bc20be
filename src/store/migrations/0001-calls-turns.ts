import type { Kysely } from 'kysely';

/** Calls, their turns, and what each turn's tools gave. Never edited after it landed: add the next number. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('calls')
    .addColumn('id', 'text', (column) => column.primaryKey())
    // The process that serves the call: only its own restart may declare the call crashed.
    .addColumn('node', 'text', (column) => column.notNull())
    .addColumn('session_key', 'text', (column) => column.notNull())
    .addColumn('carrier', 'text', (column) => column.notNull())
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('identity_strength', 'text', (column) => column.notNull())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('ended_at', 'bigint')
    .addColumn('end_reason', 'text')
    .execute();
  await db.schema.createIndex('calls_started').on('calls').columns(['started_at', 'id']).execute();
  await db.schema.createIndex('calls_ended').on('calls').columns(['ended_at']).execute();

  await db.schema
    .createTable('turns')
    .addColumn('call_id', 'text', (column) => column.notNull().references('calls.id'))
    .addColumn('turn', 'integer', (column) => column.notNull())
    .addColumn('session_key', 'text', (column) => column.notNull())
    .addColumn('started_at', 'bigint', (column) => column.notNull())
    .addColumn('user_text', 'text')
    .addColumn('assistant_text', 'text')
    .addColumn('final_at', 'bigint')
    // 1 once the session file holds the turn.
    .addColumn('projected', 'integer', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('turns_pk', ['call_id', 'turn'])
    .execute();
  await db.schema
    .createIndex('turns_session')
    .on('turns')
    .columns(['session_key', 'started_at', 'call_id', 'turn'])
    .execute();
  await db.schema
    .createIndex('turns_unprojected')
    .on('turns')
    .columns(['projected', 'started_at', 'call_id', 'turn'])
    .execute();

  await db.schema
    .createTable('turn_tools')
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('turn', 'integer', (column) => column.notNull())
    .addColumn('tool_call_id', 'text', (column) => column.notNull())
    // Order within the turn.
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('args', 'text', (column) => column.notNull())
    .addColumn('output', 'text', (column) => column.notNull())
    .addColumn('is_error', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('turn_tools_pk', ['call_id', 'turn', 'tool_call_id'])
    .addForeignKeyConstraint('turn_tools_turn', ['call_id', 'turn'], 'turns', ['call_id', 'turn'])
    .execute();
}
