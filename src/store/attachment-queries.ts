import type { Kysely, Selectable } from 'kysely';
import { VoiceError } from '../errors.ts';
import type { TurnKey } from './contract.ts';
import type { AttachmentRow, CallMediaRow, MediaKind, NewAttachment } from './media-contract.ts';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;

export async function recordCallMedia(db: Db, row: CallMediaRow): Promise<void> {
  await db
    .insertInto('call_media')
    .values({
      call_id: row.callId,
      tenant: row.tenant,
      session_key: row.sessionKey,
      revision: row.revision,
      tools: JSON.stringify(row.tools),
      targets: JSON.stringify(row.targets),
      created_at: row.createdAt,
    })
    .onConflict((conflict) => conflict.column('call_id').doNothing())
    .execute();
}

export async function getCallMedia(db: Db, callId: string): Promise<CallMediaRow | null> {
  const row = await db.selectFrom('call_media').selectAll().where('call_id', '=', callId).executeTakeFirst();
  if (!row) return null;
  return {
    callId: row.call_id,
    tenant: row.tenant,
    sessionKey: row.session_key,
    revision: row.revision,
    tools: JSON.parse(row.tools) as CallMediaRow['tools'],
    targets: JSON.parse(row.targets) as CallMediaRow['targets'],
    createdAt: row.created_at,
  };
}

export async function putAttachment(db: Db, attachment: NewAttachment): Promise<'created' | 'same'> {
  return db.transaction().execute(async (trx) => {
    const written = await trx
      .insertInto('attachments')
      .values({
        tenant: attachment.tenant,
        id: attachment.id,
        kind: attachment.kind,
        mime: attachment.mime,
        name: attachment.name,
        size: attachment.size,
        sha256: attachment.sha256,
        call_id: null,
        turn: null,
        created_at: attachment.createdAt,
        expires_at: attachment.expiresAt,
      })
      .onConflict((conflict) => conflict.columns(['tenant', 'id']).doNothing())
      .executeTakeFirst();
    if ((written.numInsertedOrUpdatedRows ?? 0n) > 0n) return 'created';
    const there = await read(trx, attachment.tenant, attachment.id);
    const same =
      there !== null &&
      there.kind === attachment.kind &&
      there.mime === attachment.mime &&
      there.name === attachment.name &&
      there.size === attachment.size &&
      there.sha256 === attachment.sha256;
    if (same) return 'same';
    throw new VoiceError('STORE_CONFLICT', 'Another attachment has this id.');
  });
}

export async function bindAttachment(
  db: Db,
  tenant: string,
  id: string,
  event: TurnKey,
  now: number,
): Promise<boolean> {
  const bound = await db
    .updateTable('attachments')
    .set({ call_id: event.callId, turn: event.turn })
    .where('tenant', '=', tenant)
    .where('id', '=', id)
    .where('expires_at', '>', now)
    .where((where) =>
      where.or([
        where('call_id', 'is', null),
        where.and([where('call_id', '=', event.callId), where('turn', '=', event.turn)]),
      ]),
    )
    .where((where) =>
      where.exists(
        where
          .selectFrom('turns')
          .select('turns.turn')
          .where('turns.call_id', '=', event.callId)
          .where('turns.turn', '=', event.turn),
      ),
    )
    .executeTakeFirst();
  return bound.numUpdatedRows > 0n;
}

export async function findAttachment(
  db: Db,
  tenant: string,
  id: string,
  event: TurnKey,
  now: number,
): Promise<AttachmentRow | null> {
  const row = await read(db, tenant, id);
  if (row === null || row.event === null || row.expiresAt <= now) return null;
  return row.event.callId === event.callId && row.event.turn === event.turn ? row : null;
}

export async function sweepAttachments(db: Db, now: number, limit: number): Promise<string[]> {
  return db.transaction().execute(async (trx) => {
    const gone = await trx
      .selectFrom('attachments')
      .select(['tenant', 'id', 'sha256'])
      .where('expires_at', '<=', now)
      .orderBy('expires_at')
      .limit(limit)
      .execute();
    for (const { tenant, id } of gone) {
      await trx
        .deleteFrom('reply_intents')
        .where('tenant', '=', tenant)
        .where('attachment_id', '=', id)
        .execute();
      await trx.deleteFrom('attachments').where('tenant', '=', tenant).where('id', '=', id).execute();
    }
    const digests = [...new Set(gone.map((row) => row.sha256))];
    const used = new Set(await usedDigests(trx, digests));
    return digests.filter((digest) => !used.has(digest));
  });
}

export async function usedDigests(db: Db, digests: readonly string[]): Promise<string[]> {
  if (digests.length === 0) return [];
  const rows = await db
    .selectFrom('attachments')
    .select('sha256')
    .distinct()
    .where('sha256', 'in', [...digests])
    .execute();
  return rows.map((row) => row.sha256);
}

async function read(db: Db, tenant: string, id: string): Promise<AttachmentRow | null> {
  const row = await db
    .selectFrom('attachments')
    .selectAll()
    .where('tenant', '=', tenant)
    .where('id', '=', id)
    .executeTakeFirst();
  return row ? toRow(row) : null;
}

function toRow(row: Selectable<Tables['attachments']>): AttachmentRow {
  return {
    tenant: row.tenant,
    id: row.id,
    kind: row.kind as MediaKind,
    mime: row.mime,
    name: row.name,
    size: row.size,
    sha256: row.sha256,
    event: row.call_id === null || row.turn === null ? null : { callId: row.call_id, turn: row.turn },
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
