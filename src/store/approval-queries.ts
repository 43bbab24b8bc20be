import { type Kysely, type Selectable, sql, type Transaction, type Updateable } from 'kysely';
import {
  type ApprovalChange,
  type ApprovalEvent,
  type ApprovalExpectation,
  type ApprovalGrant,
  type ApprovalRow,
  type ListApprovals,
  type NewApproval,
  TERMINAL_APPROVALS,
} from './approval-contract.ts';
import { writeGrant } from './approval-grant-queries.ts';
import { count } from './approval-guard-queries.ts';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;

/** Events kept of one record; what would be more is refused decisions, which need no longer list. */
export const MAX_APPROVAL_EVENTS = 200;

export async function insertApproval(db: Db, approval: NewApproval): Promise<ApprovalRow> {
  return db.transaction().execute(async (trx) => {
    await trx
      .insertInto('approvals')
      .values({
        id: approval.id,
        tenant: approval.tenant,
        session_key: approval.sessionKey,
        channel: approval.channel,
        chat_id: approval.chatId,
        call_id: approval.callId,
        tool_call_id: approval.toolCallId,
        tool: approval.tool,
        args: approval.args,
        args_shown: approval.argsShown,
        args_hash: approval.argsHash,
        summary: approval.summary,
        policy_version: approval.policyVersion,
        requester: approval.requester,
        approvers: approval.approvers === null ? null : JSON.stringify(approval.approvers),
        mode: approval.mode,
        min_input: approval.minInput,
        generation: 0,
        status: 'pending',
        created_at: approval.createdAt,
        expires_at: approval.expiresAt,
        change_no: await count(trx, 'changes'),
      })
      .execute();
    const event = { at: approval.createdAt, kind: 'requested', by: approval.requester, input: null } as const;
    await writeEvent(trx, approval.id, event);
    return required(await read(trx, approval.id));
  });
}

export async function getApproval(db: Db, id: string): Promise<ApprovalRow | null> {
  return read(db, id);
}

export async function listApprovals(
  db: Db,
  options: ListApprovals & { readonly limit: number },
): Promise<ApprovalRow[]> {
  let query = db
    .selectFrom('approvals')
    .selectAll()
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(options.limit);
  if (options.status) query = query.where('status', 'in', [...options.status]);
  if (options.sessionKey !== undefined) query = query.where('session_key', '=', options.sessionKey);
  if (options.callId !== undefined) query = query.where('call_id', '=', options.callId);
  if (options.executor !== undefined) {
    const { executor } = options;
    const workers = `${executor}/`;
    const start = sql<string>`substr(executor, 1, ${sql.lit(workers.length)})`;
    query = query.where((where) => where.or([where('executor', '=', executor), where(start, '=', workers)]));
  }
  if (options.expiredAt !== undefined) query = query.where('expires_at', '<=', options.expiredAt);
  if (options.undelivered) query = query.where('delivered_at', 'is', null);
  return (await query.execute()).map(toRow);
}

export async function lastApprovalChange(db: Db): Promise<number> {
  const { value } = await db
    .selectFrom('approval_counters')
    .select('value')
    .where('name', '=', 'changes')
    .executeTakeFirstOrThrow();
  return value;
}

export async function listApprovalChanges(db: Db, since: number, limit: number): Promise<ApprovalRow[]> {
  const rows = await db
    .selectFrom('approvals')
    .selectAll()
    .where('change_no', '>', since)
    .orderBy('change_no')
    .limit(limit)
    .execute();
  return rows.map(toRow);
}

export async function changeApproval(
  db: Db,
  id: string,
  expected: ApprovalExpectation,
  change: ApprovalChange,
  event: ApprovalEvent,
  grant?: ApprovalGrant,
): Promise<ApprovalRow | null> {
  return db.transaction().execute(async (trx) => {
    let update = trx
      .updateTable('approvals')
      .set({ id, ...toColumns(change) })
      .where('id', '=', id)
      .where('status', 'in', [...expected.status]);
    if (expected.generation !== undefined) update = update.where('generation', '=', expected.generation);
    if (expected.mode !== undefined) update = update.where('mode', '=', expected.mode);
    if (expected.notExpiredAt !== undefined) update = update.where('expires_at', '>', expected.notExpiredAt);
    if (expected.expiredAt !== undefined) update = update.where('expires_at', '<=', expected.expiredAt);
    if (expected.executor !== undefined) update = update.where('executor', '=', expected.executor);
    if (expected.argsHash !== undefined) update = update.where('args_hash', '=', expected.argsHash);
    if (expected.unresolved) update = update.where('resolution', 'is', null);
    if (expected.undelivered) update = update.where('delivered_at', 'is', null);
    const result = await update.executeTakeFirst();
    if (result.numUpdatedRows === 0n) return null;
    const change_no = await count(trx, 'changes');
    await trx.updateTable('approvals').set({ change_no }).where('id', '=', id).execute();
    await writeEvent(trx, id, event);
    if (grant) await writeGrant(trx, grant);
    return required(await read(trx, id));
  });
}

export async function addApprovalEvent(db: Db, id: string, event: ApprovalEvent): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // Takes the row's lock where there are row locks, so that two events don't take one number.
    await trx.updateTable('approvals').set({ id }).where('id', '=', id).execute();
    await writeEvent(trx, id, event);
  });
}

export async function listApprovalEvents(db: Db, id: string): Promise<ApprovalEvent[]> {
  const rows = await db
    .selectFrom('approval_events')
    .selectAll()
    .where('approval_id', '=', id)
    .orderBy('seq')
    .execute();
  return rows.map((row) => ({
    at: row.at,
    kind: row.kind as ApprovalEvent['kind'],
    by: row.by,
    input: row.input,
  }));
}

async function writeEvent(trx: Db | Transaction<Tables>, id: string, event: ApprovalEvent): Promise<void> {
  const last = await trx
    .selectFrom('approval_events')
    .select((select) => select.fn.max('seq').as('seq'))
    .where('approval_id', '=', id)
    .executeTakeFirst();
  const seq = last?.seq === null || last?.seq === undefined ? 0 : Number(last.seq) + 1;
  if (seq >= MAX_APPROVAL_EVENTS && event.kind === 'refused') return;
  await trx
    .insertInto('approval_events')
    .values({ approval_id: id, seq, at: event.at, kind: event.kind, by: event.by, input: event.input })
    .execute();
}

async function read(db: Db | Transaction<Tables>, id: string): Promise<ApprovalRow | null> {
  const record = await db.selectFrom('approvals').selectAll().where('id', '=', id).executeTakeFirst();
  return record ? toRow(record) : null;
}

function required(row: ApprovalRow | null): ApprovalRow {
  if (!row) throw new Error('A row that was just written is not there.');
  return row;
}

function toColumns(change: ApprovalChange): Updateable<Tables['approvals']> {
  const columns: Updateable<Tables['approvals']> = {};
  if (change.status !== undefined) columns.status = change.status;
  if (change.mode !== undefined) columns.mode = change.mode;
  if (change.generation !== undefined) columns.generation = change.generation;
  if (change.callId !== undefined) columns.call_id = change.callId;
  if (change.promptedAt !== undefined) columns.prompted_at = change.promptedAt;
  if (change.expiresAt !== undefined) columns.expires_at = change.expiresAt;
  if (change.decidedAt !== undefined) columns.decided_at = change.decidedAt;
  if (change.decidedBy !== undefined) columns.decided_by = change.decidedBy;
  if (change.decidedInput !== undefined) columns.decided_input = change.decidedInput;
  if (change.reason !== undefined) columns.reason = change.reason;
  if (change.grantScope !== undefined) columns.grant_scope = change.grantScope;
  if (change.executor !== undefined) columns.executor = change.executor;
  if (change.startedAt !== undefined) columns.started_at = change.startedAt;
  if (change.finishedAt !== undefined) columns.finished_at = change.finishedAt;
  if (change.outcome !== undefined) columns.outcome = change.outcome;
  if (change.deliveredAt !== undefined) columns.delivered_at = change.deliveredAt;
  if (change.resolution !== undefined) columns.resolution = change.resolution;
  if (change.resolvedBy !== undefined) columns.resolved_by = change.resolvedBy;
  if (change.resolvedAt !== undefined) columns.resolved_at = change.resolvedAt;
  // Nothing can run any more: what was to run need not be kept.
  if (change.status !== undefined && TERMINAL_APPROVALS.includes(change.status)) columns.args = null;
  return columns;
}

function toRow(record: Selectable<Tables['approvals']>): ApprovalRow {
  return {
    id: record.id,
    tenant: record.tenant,
    sessionKey: record.session_key,
    channel: record.channel,
    chatId: record.chat_id,
    callId: record.call_id,
    toolCallId: record.tool_call_id,
    tool: record.tool,
    args: record.args,
    argsShown: record.args_shown,
    argsHash: record.args_hash,
    summary: record.summary,
    policyVersion: record.policy_version,
    requester: record.requester,
    approvers: record.approvers === null ? null : (JSON.parse(record.approvers) as string[]),
    mode: record.mode as ApprovalRow['mode'],
    minInput: record.min_input as ApprovalRow['minInput'],
    generation: record.generation,
    status: record.status as ApprovalRow['status'],
    createdAt: record.created_at,
    promptedAt: record.prompted_at,
    expiresAt: record.expires_at,
    decidedAt: record.decided_at,
    decidedBy: record.decided_by,
    decidedInput: record.decided_input,
    reason: record.reason,
    grantScope: record.grant_scope as ApprovalRow['grantScope'],
    executor: record.executor,
    startedAt: record.started_at,
    finishedAt: record.finished_at,
    outcome: record.outcome,
    deliveredAt: record.delivered_at,
    resolution: record.resolution as ApprovalRow['resolution'],
    resolvedBy: record.resolved_by,
    resolvedAt: record.resolved_at,
    changeNo: record.change_no,
  };
}
