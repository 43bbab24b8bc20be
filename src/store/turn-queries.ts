import type { Kysely, Selectable, Transaction } from 'kysely';
import { VoiceError } from '../errors.ts';
import type { ToolOutcome, TurnKey, TurnOutcome, TurnRow } from './contract.ts';
import { dropReplies, releaseReplies, settleReplies } from './reply-queries.ts';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;
type TurnRecord = Selectable<Tables['turns']>;
type ToolRecord = Selectable<Tables['turn_tools']>;

export async function openTurn(
  db: Db,
  turn: { callId: string; turn: number; sessionKey: string; startedAt: number },
): Promise<void> {
  await db
    .insertInto('turns')
    .values({
      call_id: turn.callId,
      turn: turn.turn,
      session_key: turn.sessionKey,
      started_at: turn.startedAt,
      user_text: null,
      assistant_text: null,
      final_at: null,
    })
    .onConflict((conflict) => conflict.columns(['call_id', 'turn']).doNothing())
    .execute();
}

export async function commitTurn(db: Db, callId: string, turn: number, outcome: TurnOutcome): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // The update comes first: on PostgreSQL it locks the row, on SQLite it makes this a write transaction at once.
    const updated = await trx
      .updateTable('turns')
      .set({
        turn,
        ...(outcome.userText !== undefined && { user_text: outcome.userText }),
        ...(outcome.assistantText !== undefined && { assistant_text: outcome.assistantText }),
        ...(outcome.finalAt !== undefined && { final_at: outcome.finalAt }),
      })
      .where('call_id', '=', callId)
      .where('turn', '=', turn)
      .where('final_at', 'is', null)
      .executeTakeFirst();
    if (updated.numUpdatedRows === 0n) {
      await requireSameOutcome(trx, callId, turn, outcome);
      return;
    }
    await appendTools(trx, callId, turn, outcome.tools ?? []);
    await settleReplies(trx, { callId, turn }, outcome.tools ?? []);
    if (outcome.replies === 'drop') await dropReplies(trx, { callId, turn });
    else if (outcome.replies === 'release' || outcome.finalAt !== undefined)
      await releaseReplies(trx, { callId, turn });
  });
}

async function appendTools(
  trx: Transaction<Tables>,
  callId: string,
  turn: number,
  tools: readonly ToolOutcome[],
): Promise<void> {
  if (tools.length === 0) return;
  const last = await trx
    .selectFrom('turn_tools')
    .select((select) => select.fn.max('seq').as('seq'))
    .where('call_id', '=', callId)
    .where('turn', '=', turn)
    .executeTakeFirst();
  const next = (last?.seq ?? -1) + 1;
  await trx
    .insertInto('turn_tools')
    .values(
      tools.map((tool, index) => ({
        call_id: callId,
        turn,
        tool_call_id: tool.callId,
        seq: next + index,
        name: tool.name,
        args: tool.args,
        output: tool.output,
        is_error: tool.isError ? 1 : 0,
      })),
    )
    .onConflict((conflict) => conflict.columns(['call_id', 'turn', 'tool_call_id']).doNothing())
    .execute();
}

/** A retry of a commit whose answer was lost changes nothing and is fine; anything else comes too late. */
async function requireSameOutcome(
  trx: Transaction<Tables>,
  callId: string,
  turn: number,
  outcome: TurnOutcome,
): Promise<void> {
  const record = await trx
    .selectFrom('turns')
    .selectAll()
    .where('call_id', '=', callId)
    .where('turn', '=', turn)
    .executeTakeFirst();
  if (!record) throw new VoiceError('STORE_CONFLICT', `Turn ${turn} was committed before it was opened.`);
  const there = (await toolsOf(trx, [record])).map((tool) => tool.tool_call_id);
  const same =
    (outcome.userText === undefined || outcome.userText === record.user_text) &&
    (outcome.assistantText === undefined || outcome.assistantText === record.assistant_text) &&
    (outcome.finalAt === undefined || outcome.finalAt === record.final_at) &&
    (outcome.tools ?? []).every((tool) => there.includes(tool.callId));
  if (!same) throw new VoiceError('STORE_CONFLICT', `Turn ${turn} is final and does not change any more.`);
}

export async function listTurns(db: Db, sessionKey: string, limit: number): Promise<TurnRow[]> {
  const records = await db
    .selectFrom('turns')
    .selectAll()
    .where('session_key', '=', sessionKey)
    .orderBy('started_at', 'desc')
    .orderBy('call_id', 'desc')
    .orderBy('turn', 'desc')
    .limit(limit)
    .execute();
  return withTools(db, records.reverse());
}

export async function listUnprojectedTurns(db: Db, limit: number): Promise<TurnRow[]> {
  const records = await db
    .selectFrom('turns')
    .selectAll()
    .where('projected', '=', 0)
    .where('final_at', 'is not', null)
    .orderBy('started_at')
    .orderBy('call_id')
    .orderBy('turn')
    .limit(limit)
    .execute();
  return withTools(db, records);
}

export async function markProjected(db: Db, turns: readonly TurnKey[]): Promise<void> {
  if (turns.length === 0) return;
  await db.transaction().execute(async (trx) => {
    for (const { callId, turn } of turns) {
      await trx
        .updateTable('turns')
        .set({ projected: 1 })
        .where('call_id', '=', callId)
        .where('turn', '=', turn)
        .execute();
    }
  });
}

async function withTools(db: Db, records: readonly TurnRecord[]): Promise<TurnRow[]> {
  const tools = await toolsOf(db, records);
  return records.map((record) => ({
    callId: record.call_id,
    turn: record.turn,
    sessionKey: record.session_key,
    startedAt: record.started_at,
    userText: record.user_text,
    assistantText: record.assistant_text,
    tools: tools
      .filter((tool) => tool.call_id === record.call_id && tool.turn === record.turn)
      .map((tool) => ({
        callId: tool.tool_call_id,
        name: tool.name,
        args: tool.args,
        output: tool.output,
        isError: tool.is_error === 1,
      })),
    finalAt: record.final_at,
  }));
}

/** SQLite takes at most 32,766 parameters in a statement; a page of call ids stays far below. */
async function toolsOf(db: Db, records: readonly TurnRecord[]): Promise<ToolRecord[]> {
  const calls = [...new Set(records.map((record) => record.call_id))];
  if (calls.length === 0) return [];
  const turns = records.map((record) => record.turn);
  return db
    .selectFrom('turn_tools')
    .selectAll()
    .where('call_id', 'in', calls)
    .where('turn', '>=', Math.min(...turns))
    .where('turn', '<=', Math.max(...turns))
    .orderBy('call_id')
    .orderBy('turn')
    .orderBy('seq')
    .execute();
}
