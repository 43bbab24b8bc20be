import { Kysely, PostgresDialect } from 'kysely';
import { Pool, types } from 'pg';
import { VoiceError } from '../errors.ts';
import type { ApprovalWatch } from './approval-contract.ts';
import type { FullStore } from './contract.ts';
import { createKyselyStore } from './kysely-store.ts';
import { migrate } from './migrate.ts';
import { announce, watchApprovals } from './postgres-watch.ts';
import type { Tables } from './tables.ts';

/** Connections one node keeps at most. */
export const MAX_POSTGRES_CONNECTIONS = 8;
/** Connections that only listen, besides. */
export const MAX_WATCHES = 4;
/** Operations that may be under way or wait for a connection; the next one is refused. */
export const MAX_PENDING_OPERATIONS = 1024;
const CONNECT_TIMEOUT_MS = 5000;
const STATEMENT_TIMEOUT_MS = 10_000;

const INT8 = 20;
const NUMERIC = 1700;

/** `pg` gives 64-bit integers as text; ours are epoch ms and counts, which a number holds exactly. */
const getTypeParser: typeof types.getTypeParser = (oid: number, format?: 'text' | 'binary') => {
  if ((oid === INT8 || oid === NUMERIC) && format !== 'binary') return (text: string) => Number(text);
  return types.getTypeParser(oid, format as 'text');
};

/** @throws VoiceError `STORE_UNAVAILABLE`, `STORE_MIGRATION_FAILED` */
export async function openPostgresStore(url: string, node: string): Promise<FullStore> {
  const pool = new Pool({
    connectionString: url,
    max: MAX_POSTGRES_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: STATEMENT_TIMEOUT_MS,
    application_name: 'nanobot-realtime',
    types: { getTypeParser },
  });
  // An idle connection that the server drops is replaced by the next query; without a listener it is fatal.
  pool.on('error', () => {});
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) });
  const store = createKyselyStore(db, node);
  try {
    await store.ping();
    await migrate(db);
  } catch (error) {
    await db.destroy();
    throw error;
  }
  const watches = new Set<ApprovalWatch>();
  return bounded({
    ...store,
    async insertApproval(approval) {
      const record = await store.insertApproval(approval);
      await announce(db);
      return record;
    },
    async changeApproval(...args) {
      const record = await store.changeApproval(...args);
      if (record) await announce(db);
      return record;
    },
    async watchApprovals(wake) {
      for (const each of watches) if (!each.isOpen) watches.delete(each);
      if (watches.size >= MAX_WATCHES)
        throw new VoiceError('STORE_UNAVAILABLE', 'Too many watch the store already.');
      const watch = await watchApprovals(url, CONNECT_TIMEOUT_MS, wake);
      watches.add(watch);
      return watch;
    },
    async close() {
      await Promise.all([...watches].map((watch) => watch.close()));
      await store.close();
    },
  });
}

/** `pg`'s own waiting line has no bound. */
function bounded(store: FullStore & Required<Pick<FullStore, 'watchApprovals'>>): FullStore {
  let pending = 0;
  let closed: Promise<void> | null = null;
  const guard =
    <Args extends readonly unknown[], T>(operation: (...args: Args) => Promise<T>) =>
    async (...args: Args): Promise<T> => {
      if (closed) throw new VoiceError('STORE_UNAVAILABLE', 'The store is closed.');
      if (pending >= MAX_PENDING_OPERATIONS) {
        throw new VoiceError('STORE_UNAVAILABLE', 'The store has too many requests waiting.');
      }
      pending += 1;
      try {
        return await operation(...args);
      } finally {
        pending -= 1;
      }
    };
  return {
    beginCall: guard(store.beginCall),
    endCall: guard(store.endCall),
    getCall: guard(store.getCall),
    listCalls: guard(store.listCalls),
    closeStaleCalls: guard(store.closeStaleCalls),
    openTurn: guard(store.openTurn),
    commitTurn: guard(store.commitTurn),
    listTurns: guard(store.listTurns),
    listUnprojectedTurns: guard(store.listUnprojectedTurns),
    markProjected: guard(store.markProjected),
    insertApproval: guard(store.insertApproval),
    getApproval: guard(store.getApproval),
    listApprovals: guard(store.listApprovals),
    lastApprovalChange: guard(store.lastApprovalChange),
    listApprovalChanges: guard(store.listApprovalChanges),
    changeApproval: guard(store.changeApproval),
    addApprovalEvent: guard(store.addApprovalEvent),
    listApprovalEvents: guard(store.listApprovalEvents),
    addGrant: guard(store.addGrant),
    listGrants: guard(store.listGrants),
    listAllGrants: guard(store.listAllGrants),
    revokeGrants: guard(store.revokeGrants),
    pinSalt: guard(store.pinSalt),
    takePinTry: guard(store.takePinTry),
    forgivePinTry: guard(store.forgivePinTry),
    mayTryPin: guard(store.mayTryPin),
    rememberMessage: guard(store.rememberMessage),
    sweepGuards: guard(store.sweepGuards),
    recordCallMedia: guard(store.recordCallMedia),
    getCallMedia: guard(store.getCallMedia),
    turnOfToolCall: guard(store.turnOfToolCall),
    putAttachment: guard(store.putAttachment),
    bindAttachment: guard(store.bindAttachment),
    findAttachment: guard(store.findAttachment),
    sweepAttachments: guard(store.sweepAttachments),
    usedDigests: guard(store.usedDigests),
    addIntent: guard(store.addIntent),
    recordExecuted: guard(store.recordExecuted),
    recoverReplies: guard(store.recoverReplies),
    addMediaAudit: guard(store.addMediaAudit),
    listMediaAudit: guard(store.listMediaAudit),
    claimOutbox: guard(store.claimOutbox),
    changeOutbox: guard(store.changeOutbox),
    recordReceipt: guard(store.recordReceipt),
    getOutbox: guard(store.getOutbox),
    listOutbox: guard(store.listOutbox),
    wakeOutbox: guard(store.wakeOutbox),
    retryOutbox: guard(store.retryOutbox),
    dropOutbox: guard(store.dropOutbox),
    openOutboxLink: guard(store.openOutboxLink),
    pruneMedia: guard(store.pruneMedia),
    watchApprovals: guard(store.watchApprovals),
    ping: guard(store.ping),
    close() {
      closed ??= store.close();
      return closed;
    },
  };
}
