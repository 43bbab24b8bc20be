import type { Kysely } from 'kysely';

/** Approvals, what happened to each, and standing grants. Never edited after it landed: add the next number. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('approvals')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('session_key', 'text', (column) => column.notNull())
    .addColumn('channel', 'text', (column) => column.notNull())
    .addColumn('chat_id', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text')
    .addColumn('tool_call_id', 'text')
    .addColumn('tool', 'text', (column) => column.notNull())
    // Canonical JSON; null once the record is terminal, when only the redacted copy is kept.
    .addColumn('args', 'text')
    .addColumn('args_shown', 'text', (column) => column.notNull())
    .addColumn('args_hash', 'text', (column) => column.notNull())
    .addColumn('summary', 'text', (column) => column.notNull())
    .addColumn('policy_version', 'text', (column) => column.notNull())
    .addColumn('requester', 'text')
    // JSON list of names, or null: any approver.
    .addColumn('approvers', 'text')
    .addColumn('mode', 'text', (column) => column.notNull())
    .addColumn('min_input', 'text', (column) => column.notNull())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('prompted_at', 'bigint')
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('decided_at', 'bigint')
    .addColumn('decided_by', 'text')
    .addColumn('decided_input', 'text')
    .addColumn('reason', 'text')
    .addColumn('grant_scope', 'text')
    // The process that runs it: only its own restart may declare the run unknown.
    .addColumn('executor', 'text')
    .addColumn('started_at', 'bigint')
    .addColumn('finished_at', 'bigint')
    .addColumn('outcome', 'text')
    .addColumn('delivered_at', 'bigint')
    .addColumn('resolution', 'text')
    .addColumn('resolved_by', 'text')
    .addColumn('resolved_at', 'bigint')
    .execute();
  await db.schema
    .createIndex('approvals_status')
    .on('approvals')
    .columns(['status', 'created_at', 'id'])
    .execute();
  await db.schema
    .createIndex('approvals_session')
    .on('approvals')
    .columns(['session_key', 'status'])
    .execute();
  await db.schema.createIndex('approvals_created').on('approvals').columns(['created_at', 'id']).execute();

  await db.schema
    .createTable('approval_events')
    .addColumn('approval_id', 'text', (column) => column.notNull().references('approvals.id'))
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('by', 'text')
    .addColumn('input', 'text')
    .addPrimaryKeyConstraint('approval_events_pk', ['approval_id', 'seq'])
    .execute();

  await db.schema
    .createTable('approval_grants')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('tool', 'text', (column) => column.notNull())
    .addColumn('scope', 'text', (column) => column.notNull())
    // The call's id, the session's key, or an empty text.
    .addColumn('scope_key', 'text', (column) => column.notNull())
    // Canonical JSON of the argument values it is bound to.
    .addColumn('args', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('created_by', 'text', (column) => column.notNull())
    .addColumn('approval_id', 'text')
    .addColumn('revoked_at', 'bigint')
    .execute();
  await db.schema
    .createIndex('approval_grants_tool')
    .on('approval_grants')
    .columns(['tenant', 'tool', 'scope', 'scope_key'])
    .execute();
}
