import type { Kysely, Selectable, Updateable } from 'kysely';
import { writeAudit } from './media-audit-queries.ts';
import type {
  DeliveryErrorClass,
  DeliveryReceipt,
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

export async function recordReceipt(
  db: Db,
  deliveryId: string,
  providerRef: string,
  receipt: DeliveryReceipt,
  next: ReplyRoute | null,
  now: number,
  audit: MediaAudit,
): Promise<'recorded' | 'early' | 'none'> {
  return db.transaction().execute(async (trx) => {
    const result = await trx
      .updateTable('outbox')
      .set(receipt === 'delivered' ? { receipt, provider_ref: providerRef } : failedLater(next, now))
      .where('delivery_id', '=', deliveryId)
      .where('status', '=', 'sent')
      .where('receipt', 'is', null)
      // Found on the provider's list, it has no id of the provider's yet.
      .where((where) =>
        where.or([where('provider_ref', '=', providerRef), where('provider_ref', 'is', null)]),
      )
      .executeTakeFirst();
    if (result.numUpdatedRows > 0n) {
      await writeAudit(trx, audit);
      return 'recorded';
    }
    const row = await trx
      .selectFrom('outbox')
      .select(['status', 'provider_ref'])
      .where('delivery_id', '=', deliveryId)
      .executeTakeFirst();
    return row?.status === 'sending' ? 'early' : 'none';
  });
}

/** What the provider accepted reached nobody: another way, from its beginning, or the end. */
function failedLater(next: ReplyRoute | null, now: number): Updateable<Tables['outbox']> {
  const common = { last_error: 'provider_rejected', delivered_by: null } as const;
  if (next === null) return { ...common, status: 'dead_letter', receipt: 'failed', finished_at: now };
  return {
    ...common,
    status: 'retryable',
    attempts: 0,
    attempt_route: next,
    provider_ref: null,
    available_at: now,
    finished_at: null,
  };
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
        ...(change.route !== undefined && { attempt_route: change.route }),
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
    receipt: row.receipt as DeliveryReceipt | null,
  };
}
