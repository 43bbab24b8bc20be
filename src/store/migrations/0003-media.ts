import type { Kysely } from 'kysely';

/**
 * Media replies: what a call may send and where to, attachments, reply intents, the outbox, the audit. Never edited
 * after it landed: add the next number.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('call_media')
    // Written before the call's own row, which the call writes in the background: no foreign key.
    .addColumn('call_id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('session_key', 'text', (column) => column.notNull())
    // Digest of the authorization that the session started with, and the tools it allowed (JSON).
    .addColumn('revision', 'text', (column) => column.notNull())
    .addColumn('tools', 'text', (column) => column.notNull())
    // Where a reply may go, in order (JSON); holds numbers.
    .addColumn('targets', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('call_media_created').on('call_media').columns(['created_at']).execute();

  await db.schema
    .createTable('attachments')
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('mime', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('size', 'bigint', (column) => column.notNull())
    .addColumn('sha256', 'text', (column) => column.notNull())
    // The one event it is bound to.
    .addColumn('call_id', 'text')
    .addColumn('turn', 'integer')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('attachments_pk', ['tenant', 'id'])
    .addForeignKeyConstraint('attachments_turn', ['call_id', 'turn'], 'turns', ['call_id', 'turn'])
    .execute();
  await db.schema.createIndex('attachments_expiry').on('attachments').columns(['expires_at']).execute();
  await db.schema.createIndex('attachments_digest').on('attachments').columns(['sha256']).execute();

  await db.schema
    .createTable('reply_intents')
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('turn', 'integer', (column) => column.notNull())
    .addColumn('attachment_id', 'text', (column) => column.notNull())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('tool_call_id', 'text', (column) => column.notNull())
    .addColumn('seq', 'integer', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('caption', 'text', (column) => column.notNull())
    .addColumn('fallback', 'text', (column) => column.notNull())
    .addColumn('route', 'text', (column) => column.notNull())
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('trace_id', 'text', (column) => column.notNull())
    // recorded, executed, queued, dropped
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('reply_intents_pk', ['call_id', 'turn', 'attachment_id'])
    .addForeignKeyConstraint('reply_intents_turn', ['call_id', 'turn'], 'turns', ['call_id', 'turn'])
    .addForeignKeyConstraint('reply_intents_attachment', ['tenant', 'attachment_id'], 'attachments', [
      'tenant',
      'id',
    ])
    .execute();
  await db.schema
    .createIndex('reply_intents_state')
    .on('reply_intents')
    .columns(['state', 'created_at'])
    .execute();

  await db.schema
    .createTable('outbox')
    .addColumn('tenant', 'text', (column) => column.notNull())
    // The reply is named by the inbound event: the caller's turn.
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('turn', 'integer', (column) => column.notNull())
    .addColumn('segment', 'integer', (column) => column.notNull())
    // A short random name of the same row, for links and people.
    .addColumn('delivery_id', 'text', (column) => column.notNull().unique())
    // The process that holds the bytes and the call.
    .addColumn('node', 'text', (column) => column.notNull())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('caption', 'text', (column) => column.notNull())
    .addColumn('attachment_id', 'text', (column) => column.notNull())
    .addColumn('fallback', 'text', (column) => column.notNull())
    .addColumn('route', 'text', (column) => column.notNull())
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text', (column) => column.notNull())
    .addColumn('trace_id', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    // From here on: how far it has got.
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('fence', 'integer', (column) => column.notNull())
    .addColumn('lease_owner', 'text')
    .addColumn('lease_until', 'bigint')
    .addColumn('available_at', 'bigint', (column) => column.notNull())
    .addColumn('attempt_route', 'text')
    .addColumn('attempt_at', 'bigint')
    .addColumn('provider_ref', 'text')
    .addColumn('last_error', 'text')
    .addColumn('delivered_by', 'text')
    .addColumn('finished_at', 'bigint')
    .addColumn('opens', 'integer', (column) => column.notNull().defaultTo(0))
    .addPrimaryKeyConstraint('outbox_pk', ['tenant', 'call_id', 'turn', 'segment'])
    .addForeignKeyConstraint('outbox_turn', ['call_id', 'turn'], 'turns', ['call_id', 'turn'])
    .execute();
  await db.schema
    .createIndex('outbox_due')
    .on('outbox')
    .columns(['node', 'status', 'available_at', 'created_at'])
    .execute();
  await db.schema.createIndex('outbox_created').on('outbox').columns(['created_at']).execute();

  await db.schema
    .createTable('media_audit')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('content', 'text', (column) => column.notNull())
    .addColumn('at', 'bigint', (column) => column.notNull())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('call_id', 'text', (column) => column.notNull())
    .addColumn('turn', 'integer', (column) => column.notNull())
    .addColumn('tool', 'text')
    // A class from a fixed list: a route, a reason, an error's kind.
    .addColumn('detail', 'text')
    .execute();
  await db.schema.createIndex('media_audit_call').on('media_audit').columns(['call_id', 'at']).execute();
}
