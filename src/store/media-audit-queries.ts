import type { Kysely, Transaction } from 'kysely';
import { VoiceError } from '../errors.ts';
import type { MediaAudit, MediaAuditType } from './media-contract.ts';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables> | Transaction<Tables>;

/** What an entry says, without when: the same thing noted again later is the same entry. */
const contentOf = (entry: MediaAudit): string =>
  JSON.stringify([entry.tenant, entry.type, entry.event.callId, entry.event.turn, entry.tool, entry.detail]);

export async function writeAudit(db: Db, entry: MediaAudit): Promise<void> {
  const content = contentOf(entry);
  const written = await db
    .insertInto('media_audit')
    .values({
      id: entry.id,
      content,
      at: entry.at,
      tenant: entry.tenant,
      type: entry.type,
      call_id: entry.event.callId,
      turn: entry.event.turn,
      tool: entry.tool,
      detail: entry.detail,
    })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst();
  if ((written.numInsertedOrUpdatedRows ?? 0n) > 0n) return;
  const there = await db
    .selectFrom('media_audit')
    .select('content')
    .where('id', '=', entry.id)
    .executeTakeFirst();
  if (there?.content !== content)
    throw new VoiceError('STORE_CONFLICT', 'The audit holds something else under this id.');
}

export async function listAudit(
  db: Db,
  options: { readonly callId?: string; readonly limit: number },
): Promise<MediaAudit[]> {
  let query = db.selectFrom('media_audit').selectAll().orderBy('at').orderBy('id').limit(options.limit);
  if (options.callId !== undefined) query = query.where('call_id', '=', options.callId);
  return (await query.execute()).map((row) => ({
    id: row.id,
    at: row.at,
    tenant: row.tenant,
    type: row.type as MediaAuditType,
    event: { callId: row.call_id, turn: row.turn },
    tool: row.tool,
    detail: row.detail,
  }));
}
