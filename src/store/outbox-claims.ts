import {
  type ExpressionBuilder,
  type Kysely,
  PostgresAdapter,
  type SelectQueryBuilder,
  sql,
  type Transaction,
} from 'kysely';
import type { ClaimedRow, ClaimOptions, ReplyRoute } from './media-contract.ts';
import { toRow } from './outbox-queries.ts';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;
type Trx = Transaction<Tables>;

export async function claimOutbox(db: Db, node: string, options: ClaimOptions): Promise<ClaimedRow[]> {
  const { owner, now, leaseMs, limit, takeOver } = options;
  return db.transaction().execute(async (trx) => {
    await buryExpired(trx, node, now);
    await buryFollowers(trx, node, now);
    const due = await dueRows(trx, now, limit, (row) => row.where('node', '=', node));
    if (takeOver && takeOver.routes.length > 0 && due.length < limit)
      due.push(...(await leftLying(trx, node, now - takeOver.afterMs, limit - due.length, takeOver.routes)));
    if (due.length === 0) return [];
    const before = new Map(due.map((row) => [row.delivery_id, row]));
    const ids = [...before.keys()];
    const rows = await trx
      .updateTable('outbox')
      .set((column) => ({
        // An attempt whose end nobody saw is asked about, which is no attempt.
        attempts: sql<number>`case when status = 'sending' then attempts else attempts + 1 end`,
        attempt_route: sql<string>`coalesce(attempt_route, route)`,
        attempt_at: sql<number>`case when status = 'sending' then attempt_at else ${now} end`,
        status: 'sending',
        fence: column('fence', '+', 1),
        lease_owner: owner,
        lease_until: now + leaseMs,
      }))
      .where('delivery_id', 'in', ids)
      .returningAll()
      .execute();
    return rows
      .sort((a, b) => a.created_at - b.created_at || a.segment - b.segment)
      .map((row) => ({
        row: toRow(row),
        reconcile: before.get(row.delivery_id)?.status === 'sending',
        isForeign: row.node !== node,
      }));
  });
}

async function buryExpired(trx: Trx, node: string, now: number): Promise<void> {
  await trx
    .updateTable('outbox')
    .set({ status: 'dead_letter', last_error: 'expired', finished_at: now })
    .where('node', '=', node)
    .where('status', 'in', ['pending', 'retryable'])
    .where('expires_at', '<=', now)
    .execute();
}

async function buryFollowers(trx: Trx, node: string, now: number): Promise<void> {
  await trx
    .updateTable('outbox')
    .set({ status: 'dead_letter', last_error: 'preceding_segment_dead_lettered', finished_at: now })
    .where('node', '=', node)
    .where('status', 'in', ['pending', 'retryable'])
    .where('segment', '>', 0)
    .where((where) => where.exists(earlier(where, (row) => row.where('earlier.status', '=', 'dead_letter'))))
    .execute();
}

type Earlier = SelectQueryBuilder<Tables & { earlier: Tables['outbox'] }, 'outbox' | 'earlier', object>;

/** Segments of the same reply that come before this one. */
function earlier(where: ExpressionBuilder<Tables, 'outbox'>, narrow: (query: Earlier) => Earlier) {
  return narrow(
    where
      .selectFrom('outbox as earlier')
      .select('earlier.segment')
      .whereRef('earlier.tenant', '=', 'outbox.tenant')
      .whereRef('earlier.call_id', '=', 'outbox.call_id')
      .whereRef('earlier.turn', '=', 'outbox.turn')
      .whereRef('earlier.segment', '<', 'outbox.segment'),
  );
}

type DueQuery = SelectQueryBuilder<Tables, 'outbox', { delivery_id: string; status: string }>;

/** Ready rows in the order of their creation, and attempts whose lease ran out. */
async function dueRows(
  trx: Trx,
  now: number,
  limit: number,
  narrow: (query: DueQuery) => DueQuery,
): Promise<{ delivery_id: string; status: string }[]> {
  let query = narrow(trx.selectFrom('outbox').select(['delivery_id', 'status']))
    .where('available_at', '<=', now)
    .where((where) =>
      where.or([
        where('status', 'in', ['pending', 'retryable']),
        where.and([where('status', '=', 'sending'), where('lease_until', '<=', now)]),
      ]),
    )
    .where((where) =>
      where.or([
        where('segment', '=', 0),
        where.not(where.exists(earlier(where, (row) => row.where('earlier.status', '<>', 'sent')))),
      ]),
    )
    .orderBy('created_at')
    .orderBy('segment')
    .limit(limit);
  // Two workers at once take different rows; SQLite has one writer and no such words.
  if (trx.getExecutor().adapter instanceof PostgresAdapter) query = query.forUpdate().skipLocked();
  return query.execute();
}

/** Rows of other nodes, which have had all the time they need. */
function leftLying(trx: Trx, node: string, before: number, limit: number, routes: readonly ReplyRoute[]) {
  const route = sql<string>`coalesce(attempt_route, route)`;
  return dueRows(trx, before, limit, (row) => row.where('node', '<>', node).where(route, 'in', [...routes]));
}
