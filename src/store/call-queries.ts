import { type ExpressionBuilder, type Kysely, type Selectable, sql } from 'kysely';
import type { CallEndReason, CallRow } from './contract.ts';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;

export async function beginCall(
  db: Db,
  node: string,
  call: Omit<CallRow, 'endedAt' | 'endReason'>,
): Promise<void> {
  await db
    .insertInto('calls')
    .values({
      id: call.id,
      node,
      session_key: call.sessionKey,
      carrier: call.carrier,
      provider: call.provider,
      identity_strength: call.identityStrength,
      started_at: call.startedAt,
      ended_at: null,
      end_reason: null,
    })
    .execute();
}

export async function endCall(db: Db, id: string, endedAt: number, reason: CallEndReason): Promise<boolean> {
  const result = await db
    .updateTable('calls')
    .set({ ended_at: endedAt, end_reason: reason })
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

export async function getCall(db: Db, id: string): Promise<CallRow | null> {
  const record = await db.selectFrom('calls').selectAll().where('id', '=', id).executeTakeFirst();
  return record ? toRow(record) : null;
}

export async function listCalls(
  db: Db,
  options: { limit: number; live?: boolean; before?: number },
): Promise<CallRow[]> {
  let query = db
    .selectFrom('calls')
    .selectAll()
    .orderBy('started_at', 'desc')
    .orderBy('id', 'desc')
    .limit(options.limit);
  if (options.live !== undefined) query = query.where('ended_at', options.live ? 'is' : 'is not', null);
  if (options.before !== undefined) query = query.where('started_at', '<', options.before);
  return (await query.execute()).map(toRow);
}

export async function closeStaleCalls(db: Db, own: string, now: number, of?: string): Promise<number> {
  const node = of ?? own;
  return db.transaction().execute(async (trx) => {
    let update = trx
      .updateTable('calls')
      .set({ ended_at: now, end_reason: 'crashed' })
      .where((where) => ofNode(where, node))
      .where('ended_at', 'is', null);
    // What a worker in its place has begun since is not its own.
    if (of !== undefined) update = update.where('started_at', '<=', now);
    const closed = await update.executeTakeFirst();
    // Nobody is left to finish them; what is known of them is what there will be.
    await trx
      .updateTable('turns')
      .set({ final_at: now })
      .where('final_at', 'is', null)
      .where('call_id', 'in', (select) =>
        select
          .selectFrom('calls')
          .select('id')
          .where((where) => ofNode(where, node))
          .where('ended_at', 'is not', null),
      )
      .execute();
    return Number(closed.numUpdatedRows);
  });
}

/** A node itself, and each of its workers. */
function ofNode(where: ExpressionBuilder<Tables, 'calls'>, node: string) {
  const prefix = `${node}/`;
  return where.or([
    where('node', '=', node),
    where(sql<string>`substr(node, 1, ${sql.lit(prefix.length)})`, '=', prefix),
  ]);
}

function toRow(record: Selectable<Tables['calls']>): CallRow {
  return {
    id: record.id,
    sessionKey: record.session_key,
    carrier: record.carrier,
    provider: record.provider,
    identityStrength: record.identity_strength as CallRow['identityStrength'],
    startedAt: record.started_at,
    endedAt: record.ended_at,
    endReason: record.end_reason as CallEndReason | null,
  };
}
