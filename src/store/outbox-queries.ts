import {
  type Kysely,
  PostgresAdapter,
  type Selectable,
  sql,
  type Transaction,
  type Updateable,
} from 'kysely';
import { writeAudit } from './media-audit-queries.ts';
import type {
  ClaimedRow,
  ClaimOptions,
  DeliveryErrorClass,
  ListOutbox,
  MediaAudit,
  MediaKind,
  OutboxChange,
  OutboxRow,
  OutboxStatus,
  ReplyRoute,
} from './media-contract.ts';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;
type Trx = Transaction<Tables>;

export async function claimOutbox(db: Db, node: string, options: ClaimOptions): Promise<ClaimedRow[]> {
  const { owner, now, leaseMs, limit } = options;
  return db.transaction().execute(async (trx) => {
    await buryExpired(trx, node, now);
    await buryFollowers(trx, node, now);
    const ids = await dueRows(trx, node, now, limit);
    if (ids.length === 0) return [];
    const before = new Map(
      (
        await trx
          .selectFrom('outbox')
          .select(['delivery_id', 'status'])
          .where('delivery_id', 'in', ids)
          .execute()
      ).map((row) => [row.delivery_id, row.status]),
    );
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
      .map((row) => ({ row: toRow(row), reconcile: before.get(row.delivery_id) === 'sending' }));
  });
}

export async function changeOutbox(
  db: Db,
  deliveryId: string,
  fence: number,
  change: OutboxChange,
  now: number,
  audit?: MediaAudit,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    const result = await trx
      .updateTable('outbox')
      .set((column) => ({
        ...columnsOf(change, now),
        ...(change.status === 'retryable' && change.uncounted && { attempts: column('attempts', '-', 1) }),
      }))
      .where('delivery_id', '=', deliveryId)
      .where('fence', '=', fence)
      .where('status', '=', 'sending')
      .executeTakeFirst();
    if (result.numUpdatedRows === 0n) return false;
    if (audit) await writeAudit(trx, audit);
    return true;
  });
}

export async function getOutbox(db: Db, deliveryId: string): Promise<OutboxRow | null> {
  const row = await db
    .selectFrom('outbox')
    .selectAll()
    .where('delivery_id', '=', deliveryId)
    .executeTakeFirst();
  return row ? toRow(row) : null;
}

export async function listOutbox(
  db: Db,
  options: ListOutbox & { readonly limit: number },
): Promise<OutboxRow[]> {
  let query = db
    .selectFrom('outbox')
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('delivery_id')
    .limit(options.limit);
  if (options.status) query = query.where('status', 'in', [...options.status]);
  if (options.callId !== undefined) query = query.where('call_id', '=', options.callId);
  return (await query.execute()).map(toRow);
}

export async function wakeOutbox(db: Db, callId: string, route: ReplyRoute, now: number): Promise<void> {
  await db
    .updateTable('outbox')
    .set({ available_at: now })
    .where('call_id', '=', callId)
    .where('route', '=', route)
    .where('status', 'in', ['retryable', 'sending'])
    .where('available_at', '>', now)
    .execute();
}

export async function retryOutbox(db: Db, deliveryId: string, now: number): Promise<boolean> {
  const result = await db
    .updateTable('outbox')
    .set((column) => ({
      status: 'retryable',
      attempts: 0,
      available_at: now,
      attempt_route: null,
      lease_owner: null,
      lease_until: null,
      finished_at: null,
      // Whoever still works on it may not change it any more.
      fence: column('fence', '+', 1),
    }))
    .where('delivery_id', '=', deliveryId)
    .where('expires_at', '>', now)
    .where((where) =>
      where.or([
        where('status', 'in', ['retryable', 'dead_letter', 'pending']),
        where.and([where('status', '=', 'sending'), where('lease_until', '<=', now)]),
        where.and([where('status', '=', 'sending'), where('last_error', '=', 'unknown')]),
      ]),
    )
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

export async function dropOutbox(db: Db, deliveryId: string, now: number): Promise<boolean> {
  const result = await db
    .updateTable('outbox')
    .set((column) => ({
      status: 'dead_letter',
      last_error: 'dropped',
      finished_at: now,
      lease_owner: null,
      lease_until: null,
      fence: column('fence', '+', 1),
    }))
    .where('delivery_id', '=', deliveryId)
    .where('status', 'in', ['pending', 'retryable', 'sending'])
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

export async function openOutboxLink(db: Db, deliveryId: string, max: number): Promise<boolean> {
  const result = await db
    .updateTable('outbox')
    .set((column) => ({ opens: column('opens', '+', 1) }))
    .where('delivery_id', '=', deliveryId)
    .where('opens', '<', max)
    .executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

export async function pruneMedia(db: Db, olderThan: number): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const gone = await trx
      .deleteFrom('outbox')
      .where('status', 'in', ['sent', 'dead_letter'])
      .where('created_at', '<=', olderThan)
      .executeTakeFirst();
    await trx.deleteFrom('media_audit').where('at', '<=', olderThan).execute();
    await trx.deleteFrom('call_media').where('created_at', '<=', olderThan).execute();
    return Number(gone.numDeletedRows);
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
    .where((where) =>
      where.exists(
        where
          .selectFrom('outbox as earlier')
          .select('earlier.segment')
          .whereRef('earlier.tenant', '=', 'outbox.tenant')
          .whereRef('earlier.call_id', '=', 'outbox.call_id')
          .whereRef('earlier.turn', '=', 'outbox.turn')
          .whereRef('earlier.segment', '<', 'outbox.segment')
          .where('earlier.status', '=', 'dead_letter'),
      ),
    )
    .execute();
}

/** Ready rows in the order of their creation, and attempts whose lease ran out. */
async function dueRows(trx: Trx, node: string, now: number, limit: number): Promise<string[]> {
  let query = trx
    .selectFrom('outbox')
    .select('delivery_id')
    .where('node', '=', node)
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
        where.not(
          where.exists(
            where
              .selectFrom('outbox as earlier')
              .select('earlier.segment')
              .whereRef('earlier.tenant', '=', 'outbox.tenant')
              .whereRef('earlier.call_id', '=', 'outbox.call_id')
              .whereRef('earlier.turn', '=', 'outbox.turn')
              .whereRef('earlier.segment', '<', 'outbox.segment')
              .where('earlier.status', '<>', 'sent'),
          ),
        ),
      ]),
    )
    .orderBy('created_at')
    .orderBy('segment')
    .limit(limit);
  // Two workers at once take different rows; SQLite has one writer and no such words.
  if (trx.getExecutor().adapter instanceof PostgresAdapter) query = query.forUpdate().skipLocked();
  return (await query.execute()).map((row) => row.delivery_id);
}

function columnsOf(change: OutboxChange, now: number): Updateable<Tables['outbox']> {
  const free = { lease_owner: null, lease_until: null } as const;
  switch (change.status) {
    case 'sent':
      return {
        ...free,
        status: 'sent',
        delivered_by: change.by,
        provider_ref: change.providerRef,
        last_error: null,
        finished_at: now,
      };
    case 'retryable':
      return {
        ...free,
        status: 'retryable',
        last_error: change.error,
        available_at: change.availableAt,
      };
    case 'dead_letter':
      return { ...free, status: 'dead_letter', last_error: change.error, finished_at: now };
    case 'unknown':
      return { last_error: 'unknown', lease_owner: null, lease_until: now, available_at: change.availableAt };
    case 'sending':
      return { attempt_route: change.route, attempt_at: now, lease_until: change.leaseUntil };
    default:
      return change satisfies never;
  }
}

export function toRow(row: Selectable<Tables['outbox']>): OutboxRow {
  return {
    tenant: row.tenant,
    event: { callId: row.call_id, turn: row.turn },
    segment: row.segment,
    deliveryId: row.delivery_id,
    kind: row.kind as MediaKind,
    caption: row.caption,
    attachmentId: row.attachment_id,
    fallback: row.fallback,
    target: { route: row.route as ReplyRoute, address: row.address },
    requestId: row.request_id,
    traceId: row.trace_id,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    status: row.status as OutboxStatus,
    attempts: row.attempts,
    fence: row.fence,
    leaseOwner: row.lease_owner,
    leaseUntil: row.lease_until,
    availableAt: row.available_at,
    attemptRoute: row.attempt_route as ReplyRoute | null,
    attemptAt: row.attempt_at,
    providerRef: row.provider_ref,
    lastError: row.last_error as DeliveryErrorClass | null,
    deliveredBy: row.delivered_by as ReplyRoute | null,
    finishedAt: row.finished_at,
    opens: row.opens,
  };
}
