import type { Kysely } from 'kysely';

/**
 * What a provider said later about a delivery that it had accepted. Never edited after it landed: add the next number.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('outbox')
    // delivered, failed
    .addColumn('receipt', 'text')
    .execute();
  // Rows that another node has left lying are looked for by their time alone.
  await db.schema.createIndex('outbox_overdue').on('outbox').columns(['status', 'available_at']).execute();
}
