import { type Kysely, sql } from 'kysely';
import { Client } from 'pg';
import type { ApprovalWatch } from './approval-contract.ts';
import type { Tables } from './tables.ts';
import { wrapDatabaseError } from './wrap-error.ts';

/** PostgreSQL channels belong to one database: nobody else's changes are heard. */
const CHANNEL = 'nanobot_approvals';

/** Tells whoever watches that a change was committed. One that gets lost is found by the next look at the table. */
export async function announce(db: Kysely<Tables>): Promise<void> {
  try {
    await sql`select pg_notify(${CHANNEL}, '')`.execute(db);
  } catch {
    // The change itself is committed.
  }
}

/** A connection of its own that hears of changes. @throws VoiceError `STORE_UNAVAILABLE` */
export async function watchApprovals(
  url: string,
  connectTimeoutMs: number,
  wake: () => void,
): Promise<ApprovalWatch> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: connectTimeoutMs,
    application_name: 'nanobot-realtime watch',
    keepAlive: true,
  });
  let isOpen = true;
  const lost = () => {
    isOpen = false;
  };
  client.on('error', lost);
  client.on('end', lost);
  client.on('notification', () => wake());
  const close = async () => {
    isOpen = false;
    await client.end().catch(() => {});
  };
  try {
    await wrapDatabaseError(client.connect());
    await wrapDatabaseError(client.query(`listen ${CHANNEL}`));
  } catch (error) {
    await close();
    throw error;
  }
  return {
    get isOpen() {
      return isOpen;
    },
    close,
  };
}
