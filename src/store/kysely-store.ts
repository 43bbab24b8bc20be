import { type Kysely, sql } from 'kysely';
import * as grants from './approval-grant-queries.ts';
import * as guards from './approval-guard-queries.ts';
import * as approvals from './approval-queries.ts';
import * as attachments from './attachment-queries.ts';
import * as calls from './call-queries.ts';
import type { FullStore } from './contract.ts';
import * as audit from './media-audit-queries.ts';
import * as claims from './outbox-claims.ts';
import * as outbox from './outbox-queries.ts';
import * as replies from './reply-queries.ts';
import type { Tables } from './tables.ts';
import * as turns from './turn-queries.ts';
import { wrapDatabaseError } from './wrap-error.ts';

/** Most rows one list gives back, whatever was asked for. */
export const MAX_LIST_ROWS = 1000;

const clamp = (limit: number): number => Math.max(0, Math.min(MAX_LIST_ROWS, Math.floor(limit)));

/** The queries, the same for both engines. On SQLite this runs inside the worker. */
export function createKyselyStore(db: Kysely<Tables>, node: string): FullStore {
  return {
    beginCall: (call) => wrapDatabaseError(calls.beginCall(db, node, call)),
    endCall: (id, endedAt, reason) => wrapDatabaseError(calls.endCall(db, id, endedAt, reason)),
    getCall: (id) => wrapDatabaseError(calls.getCall(db, id)),
    listCalls: (options = {}) =>
      wrapDatabaseError(calls.listCalls(db, { ...options, limit: clamp(options.limit ?? 100) })),
    closeStaleCalls: (now, of) => wrapDatabaseError(calls.closeStaleCalls(db, node, now, of)),
    openTurn: (turn) => wrapDatabaseError(turns.openTurn(db, turn)),
    commitTurn: (callId, turn, outcome) => wrapDatabaseError(turns.commitTurn(db, callId, turn, outcome)),
    listTurns: (sessionKey, limit) => wrapDatabaseError(turns.listTurns(db, sessionKey, clamp(limit))),
    listUnprojectedTurns: (limit) => wrapDatabaseError(turns.listUnprojectedTurns(db, clamp(limit))),
    markProjected: (keys) => wrapDatabaseError(turns.markProjected(db, keys)),
    insertApproval: (approval) => wrapDatabaseError(approvals.insertApproval(db, approval)),
    getApproval: (id) => wrapDatabaseError(approvals.getApproval(db, id)),
    listApprovals: (options = {}) =>
      wrapDatabaseError(approvals.listApprovals(db, { ...options, limit: clamp(options.limit ?? 100) })),
    lastApprovalChange: () => wrapDatabaseError(approvals.lastApprovalChange(db)),
    listApprovalChanges: (since, limit) =>
      wrapDatabaseError(approvals.listApprovalChanges(db, since, clamp(limit))),
    changeApproval: (id, expected, change, event, grant) =>
      wrapDatabaseError(approvals.changeApproval(db, id, expected, change, event, grant)),
    addApprovalEvent: (id, event) => wrapDatabaseError(approvals.addApprovalEvent(db, id, event)),
    listApprovalEvents: (id) => wrapDatabaseError(approvals.listApprovalEvents(db, id)),
    addGrant: (grant) => wrapDatabaseError(grants.addGrant(db, grant)),
    listGrants: (query) => wrapDatabaseError(grants.listGrants(db, query)),
    listAllGrants: (limit) => wrapDatabaseError(grants.listAllGrants(db, clamp(limit))),
    revokeGrants: (which, at) => wrapDatabaseError(grants.revokeGrants(db, which, at)),
    pinSalt: () => wrapDatabaseError(guards.pinSalt(db)),
    takePinTry: (pinTry, limits) => wrapDatabaseError(guards.takePinTry(db, pinTry, limits)),
    forgivePinTry: (id) => wrapDatabaseError(guards.forgivePinTry(db, id)),
    mayTryPin: (numberHash, limits) => wrapDatabaseError(guards.mayTryPin(db, numberHash, limits)),
    rememberMessage: (keyHash, at, max) => wrapDatabaseError(guards.rememberMessage(db, keyHash, at, max)),
    sweepGuards: (olderThan) => wrapDatabaseError(guards.sweepGuards(db, olderThan)),
    recordCallMedia: (row) => wrapDatabaseError(attachments.recordCallMedia(db, row)),
    getCallMedia: (callId) => wrapDatabaseError(attachments.getCallMedia(db, callId)),
    turnOfToolCall: (callId, toolCallId) => wrapDatabaseError(replies.turnOfToolCall(db, callId, toolCallId)),
    putAttachment: (attachment) => wrapDatabaseError(attachments.putAttachment(db, attachment)),
    bindAttachment: (tenant, id, event, now) =>
      wrapDatabaseError(attachments.bindAttachment(db, tenant, id, event, now)),
    findAttachment: (tenant, id, event, now) =>
      wrapDatabaseError(attachments.findAttachment(db, tenant, id, event, now)),
    sweepAttachments: (now, limit) => wrapDatabaseError(attachments.sweepAttachments(db, now, clamp(limit))),
    usedDigests: (digests) => wrapDatabaseError(attachments.usedDigests(db, digests)),
    addIntent: (intent, maxPerCall) => wrapDatabaseError(replies.addIntent(db, intent, maxPerCall)),
    recordExecuted: (event, toolCallId, entry) =>
      wrapDatabaseError(replies.recordExecuted(db, event, toolCallId, entry)),
    recoverReplies: (olderThan, limit) =>
      wrapDatabaseError(replies.recoverReplies(db, olderThan, clamp(limit))),
    addMediaAudit: (entry) => wrapDatabaseError(audit.writeAudit(db, entry)),
    listMediaAudit: (options = {}) =>
      wrapDatabaseError(audit.listAudit(db, { ...options, limit: clamp(options.limit ?? 100) })),
    claimOutbox: (options) =>
      wrapDatabaseError(claims.claimOutbox(db, node, { ...options, limit: clamp(options.limit) })),
    changeOutbox: (deliveryId, fence, change, now, entry) =>
      wrapDatabaseError(outbox.changeOutbox(db, deliveryId, fence, change, now, entry)),
    recordReceipt: (...args) => wrapDatabaseError(outbox.recordReceipt(db, ...args)),
    getOutbox: (deliveryId) => wrapDatabaseError(outbox.getOutbox(db, deliveryId)),
    listOutbox: (options = {}) =>
      wrapDatabaseError(outbox.listOutbox(db, { ...options, limit: clamp(options.limit ?? 100) })),
    wakeOutbox: (callId, route, now) => wrapDatabaseError(outbox.wakeOutbox(db, callId, route, now)),
    retryOutbox: (deliveryId, now) => wrapDatabaseError(outbox.retryOutbox(db, deliveryId, now)),
    dropOutbox: (deliveryId, now) => wrapDatabaseError(outbox.dropOutbox(db, deliveryId, now)),
    openOutboxLink: (deliveryId, max) => wrapDatabaseError(outbox.openOutboxLink(db, deliveryId, max)),
    pruneMedia: (olderThan) => wrapDatabaseError(outbox.pruneMedia(db, olderThan)),
    ping: async () => {
      await wrapDatabaseError(sql`select 1`.execute(db));
    },
    close: () => db.destroy(),
  };
}
