import type { Kysely, Selectable, Transaction } from 'kysely';
import type { ApprovalGrant } from './approval-contract.ts';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;

export async function addGrant(db: Db, grant: ApprovalGrant): Promise<void> {
  await writeGrant(db, grant);
}

export async function listGrants(
  db: Db,
  query: { tenant: string; tool: string; callId: string | null; sessionKey: string },
): Promise<ApprovalGrant[]> {
  const rows = await db
    .selectFrom('approval_grants')
    .selectAll()
    .where('tenant', '=', query.tenant)
    .where('tool', '=', query.tool)
    .where('revoked_at', 'is', null)
    .where((where) =>
      where.or([
        where('scope', '=', 'permanent'),
        where.and([where('scope', '=', 'session'), where('scope_key', '=', query.sessionKey)]),
        ...(query.callId === null
          ? []
          : [where.and([where('scope', '=', 'call'), where('scope_key', '=', query.callId)])]),
      ]),
    )
    .limit(1000)
    .execute();
  return rows.map(toGrant);
}

export async function listAllGrants(db: Db, limit: number): Promise<ApprovalGrant[]> {
  const rows = await db
    .selectFrom('approval_grants')
    .selectAll()
    .where('revoked_at', 'is', null)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(limit)
    .execute();
  return rows.map(toGrant);
}

export async function revokeGrants(
  db: Db,
  which: { id: string } | { scope: 'call' | 'session'; scopeKey: string },
  at: number,
): Promise<boolean> {
  const update = db.updateTable('approval_grants').set({ revoked_at: at }).where('revoked_at', 'is', null);
  const result = await ('id' in which
    ? update.where('id', '=', which.id)
    : update.where('scope', '=', which.scope).where('scope_key', '=', which.scopeKey)
  ).executeTakeFirst();
  return result.numUpdatedRows > 0n;
}

export async function writeGrant(db: Db | Transaction<Tables>, grant: ApprovalGrant): Promise<void> {
  await db
    .insertInto('approval_grants')
    .values({
      id: grant.id,
      tenant: grant.tenant,
      tool: grant.tool,
      scope: grant.scope,
      scope_key: grant.scopeKey,
      args: grant.args,
      created_at: grant.createdAt,
      created_by: grant.createdBy,
      approval_id: grant.approvalId,
      revoked_at: null,
    })
    .execute();
}

function toGrant(record: Selectable<Tables['approval_grants']>): ApprovalGrant {
  return {
    id: record.id,
    tenant: record.tenant,
    tool: record.tool,
    scope: record.scope as ApprovalGrant['scope'],
    scopeKey: record.scope_key,
    args: record.args,
    createdAt: record.created_at,
    createdBy: record.created_by,
    approvalId: record.approval_id,
  };
}
