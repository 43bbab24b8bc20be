import { randomBytes } from 'node:crypto';
import type { Kysely, Selectable, Transaction } from 'kysely';
import type { ToolOutcome, TurnKey } from './contract.ts';
import { writeAudit } from './media-audit-queries.ts';
import type { IntentOutcome, MediaAudit, ReplyIntent } from './media-contract.ts';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;
type Trx = Transaction<Tables>;

/** A queued reply waits this long for the model to say that its turn went well; nobody says no, it goes out. */
export const REPLY_HOLD_MS = 20_000;

export async function turnOfToolCall(db: Db, callId: string, toolCallId: string): Promise<number | null> {
  const row = await db
    .selectFrom('turn_tools')
    .select('turn')
    .where('call_id', '=', callId)
    .where('tool_call_id', '=', toolCallId)
    .orderBy('turn', 'desc')
    .executeTakeFirst();
  return row?.turn ?? null;
}

export async function addIntent(db: Db, intent: ReplyIntent, maxPerCall: number): Promise<IntentOutcome> {
  const { callId, turn } = intent.event;
  return db.transaction().execute(async (trx) => {
    // Takes the call's lock where there are row locks, so that the budget and the order are counted one by one.
    await trx.updateTable('call_media').set({ call_id: callId }).where('call_id', '=', callId).execute();
    const rows = await trx
      .selectFrom('reply_intents')
      .select(['turn', 'attachment_id'])
      .where('call_id', '=', callId)
      .execute();
    const here = rows.filter((row) => row.turn === turn);
    if (here.some((row) => row.attachment_id === intent.attachmentId)) return 'same';
    if (rows.length >= maxPerCall) return 'over_budget';
    await trx
      .insertInto('reply_intents')
      .values({
        call_id: callId,
        turn,
        attachment_id: intent.attachmentId,
        tenant: intent.tenant,
        tool_call_id: intent.toolCallId,
        seq: here.length,
        kind: intent.kind,
        caption: intent.caption,
        fallback: intent.fallback,
        route: intent.target.route,
        address: intent.target.address,
        request_id: intent.requestId,
        trace_id: intent.traceId,
        state: 'recorded',
        created_at: intent.createdAt,
        expires_at: intent.expiresAt,
      })
      .execute();
    return 'added';
  });
}

export async function recordExecuted(
  db: Db,
  event: TurnKey,
  toolCallId: string,
  audit: MediaAudit,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await trx
      .updateTable('reply_intents')
      .set({ state: 'executed' })
      .where('call_id', '=', event.callId)
      .where('turn', '=', event.turn)
      .where('tool_call_id', '=', toolCallId)
      .where('state', '=', 'recorded')
      .execute();
    await writeAudit(trx, audit);
    const settled = await trx
      .selectFrom('turn_tools')
      .select('is_error')
      .where('call_id', '=', event.callId)
      .where('turn', '=', event.turn)
      .where('tool_call_id', '=', toolCallId)
      .executeTakeFirst();
    // The model was told already: that the tool failed or was stopped, or that it waits for approval.
    if (settled?.is_error === 1) await dropIntents(trx, event, toolCallId);
    else if (settled) {
      await queueTool(trx, event, toolCallId);
      // The answer to a turn that is final is over: there is nothing to wait for.
      if (await isFinal(trx, event)) await releaseReplies(trx, event);
    }
  });
}

async function isFinal(trx: Trx, { callId, turn }: TurnKey): Promise<boolean> {
  const row = await trx
    .selectFrom('turns')
    .select('final_at')
    .where('call_id', '=', callId)
    .where('turn', '=', turn)
    .executeTakeFirst();
  return row !== undefined && row.final_at !== null;
}

/** Part of the commit of a turn's outcome: what its tools meant to send is in the outbox with it, or never. */
export async function settleReplies(trx: Trx, event: TurnKey, tools: readonly ToolOutcome[]): Promise<void> {
  for (const tool of tools) {
    if (tool.isError) await dropIntents(trx, event, tool.callId);
    else await queueTool(trx, event, tool.callId);
  }
}

/** The model has answered: what was queued up to this turn goes out. */
export async function releaseReplies(trx: Trx, { callId, turn }: TurnKey): Promise<void> {
  await trx
    .updateTable('outbox')
    .set({ available_at: 0 })
    .where('call_id', '=', callId)
    .where('turn', '<=', turn)
    .where('status', '=', 'pending')
    .execute();
}

/** The turn failed: nothing of it is sent that was not sent yet. */
export async function dropReplies(trx: Trx, event: TurnKey): Promise<void> {
  await dropIntents(trx, event, null);
  await trx
    .updateTable('outbox')
    .set({ status: 'dead_letter', last_error: 'turn_failed' })
    .where('call_id', '=', event.callId)
    .where('turn', '=', event.turn)
    .where('status', '=', 'pending')
    .execute();
}

export async function recoverReplies(db: Db, olderThan: number, limit: number): Promise<number> {
  return db.transaction().execute(async (trx) => {
    const rows = await trx
      .selectFrom('reply_intents as intent')
      .innerJoin('turns as turn', (join) =>
        join.onRef('turn.call_id', '=', 'intent.call_id').onRef('turn.turn', '=', 'intent.turn'),
      )
      .select(['intent.call_id', 'intent.turn', 'intent.tool_call_id', 'intent.state'])
      .distinct()
      .where('intent.state', 'in', ['recorded', 'executed'])
      .where('intent.created_at', '<=', olderThan)
      .where('turn.final_at', 'is not', null)
      .limit(limit)
      .execute();
    for (const { call_id: callId, turn, tool_call_id: toolCallId, state } of rows) {
      if (state === 'executed') {
        await queueTool(trx, { callId, turn }, toolCallId);
        // The turn is final: no answer is waited for any more.
        await releaseReplies(trx, { callId, turn });
      } else await dropIntents(trx, { callId, turn }, toolCallId);
    }
    return rows.length;
  });
}

async function dropIntents(trx: Trx, event: TurnKey, toolCallId: string | null): Promise<void> {
  let update = trx
    .updateTable('reply_intents')
    .set({ state: 'dropped' })
    .where('call_id', '=', event.callId)
    .where('turn', '=', event.turn)
    .where('state', 'in', ['recorded', 'executed']);
  if (toolCallId !== null) update = update.where('tool_call_id', '=', toolCallId);
  await update.execute();
}

async function queueTool(trx: Trx, event: TurnKey, toolCallId: string): Promise<void> {
  const intents = await trx
    .selectFrom('reply_intents')
    .selectAll()
    .where('call_id', '=', event.callId)
    .where('turn', '=', event.turn)
    .where('tool_call_id', '=', toolCallId)
    .where('state', '=', 'executed')
    .orderBy('seq')
    .execute();
  if (intents.length === 0) return;
  const call = await trx
    .selectFrom('calls')
    .select('node')
    .where('id', '=', event.callId)
    .executeTakeFirstOrThrow();
  const last = await trx
    .selectFrom('outbox')
    .select((select) => select.fn.max('segment').as('segment'))
    .where('call_id', '=', event.callId)
    .where('turn', '=', event.turn)
    .executeTakeFirst();
  let segment = last?.segment === null || last?.segment === undefined ? 0 : Number(last.segment) + 1;
  for (const intent of intents) {
    await trx
      .insertInto('outbox')
      .values(outboxRow(intent, segment++, call.node))
      .execute();
  }
  await trx
    .updateTable('reply_intents')
    .set({ state: 'queued' })
    .where('call_id', '=', event.callId)
    .where('turn', '=', event.turn)
    .where('tool_call_id', '=', toolCallId)
    .where('state', '=', 'executed')
    .execute();
}

const outboxRow = (intent: Selectable<Tables['reply_intents']>, segment: number, node: string) => ({
  tenant: intent.tenant,
  call_id: intent.call_id,
  turn: intent.turn,
  segment,
  delivery_id: randomBytes(12).toString('base64url'),
  node,
  kind: intent.kind,
  caption: intent.caption,
  attachment_id: intent.attachment_id,
  fallback: intent.fallback,
  route: intent.route,
  address: intent.address,
  request_id: intent.request_id,
  trace_id: intent.trace_id,
  created_at: intent.created_at,
  expires_at: intent.expires_at,
  status: 'pending',
  attempts: 0,
  fence: 0,
  lease_owner: null,
  lease_until: null,
  available_at: intent.created_at + REPLY_HOLD_MS,
  attempt_route: null,
  attempt_at: null,
  provider_ref: null,
  last_error: null,
  delivered_by: null,
  finished_at: null,
});
