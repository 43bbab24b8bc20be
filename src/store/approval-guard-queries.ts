import type { Kysely, Transaction } from 'kysely';
import type { PinLimits, PinTry } from './approval-guard-contract.ts';
import type { Tables } from './tables.ts';

type Db = Kysely<Tables>;
type Trx = Transaction<Tables>;

export async function pinSalt(db: Db): Promise<string> {
  const { salt } = await db
    .selectFrom('approval_counters')
    .select('salt')
    .where('name', '=', 'pin_tries')
    .executeTakeFirstOrThrow();
  return salt;
}

export async function takePinTry(
  db: Db,
  { id, numberHash, at }: PinTry,
  limits: PinLimits,
): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await count(trx, 'pin_tries');
    if (!(await mayTryPin(trx, numberHash, limits))) return false;
    await trx.insertInto('approval_pin_tries').values({ id, number_hash: numberHash, at }).execute();
    return true;
  });
}

export async function forgivePinTry(db: Db, id: string): Promise<void> {
  await db.deleteFrom('approval_pin_tries').where('id', '=', id).execute();
}

export async function mayTryPin(db: Db | Trx, numberHash: string, limits: PinLimits): Promise<boolean> {
  const failures = await db
    .selectFrom('approval_pin_tries')
    .select('number_hash')
    .where('at', '>', limits.since)
    .limit(limits.inAll)
    .execute();
  if (failures.length >= limits.inAll) return false;
  return failures.filter((each) => each.number_hash === numberHash).length < limits.perNumber;
}

export async function rememberMessage(db: Db, keyHash: string, at: number, max: number): Promise<boolean> {
  return db.transaction().execute(async (trx) => {
    await count(trx, 'messages');
    const inserted = await trx
      .insertInto('approval_messages')
      .values({ key_hash: keyHash, at })
      .onConflict((conflict) => conflict.column('key_hash').doNothing())
      .executeTakeFirst();
    if (inserted.numInsertedOrUpdatedRows === 0n) return false;
    const kept = trx
      .selectFrom('approval_messages')
      .select('key_hash')
      .orderBy('at', 'desc')
      .orderBy('key_hash')
      .limit(max);
    await trx.deleteFrom('approval_messages').where('key_hash', 'not in', kept).execute();
    return true;
  });
}

export async function sweepGuards(
  db: Db,
  olderThan: { readonly pinTries: number; readonly messages: number },
): Promise<number> {
  const tries = await db
    .deleteFrom('approval_pin_tries')
    .where('at', '<=', olderThan.pinTries)
    .executeTakeFirst();
  const messages = await db
    .deleteFrom('approval_messages')
    .where('at', '<=', olderThan.messages)
    .executeTakeFirst();
  return Number(tries.numDeletedRows + messages.numDeletedRows);
}

/** The next number of a counter. Whoever takes one has its row until the transaction ends: numbers are in order of commits. */
export async function count(trx: Trx, name: 'changes' | 'pin_tries' | 'messages'): Promise<number> {
  const { value } = await trx
    .updateTable('approval_counters')
    .set((row) => ({ value: row('value', '+', 1) }))
    .where('name', '=', name)
    .returning('value')
    .executeTakeFirstOrThrow();
  return value;
}
