/**
 * Media replies in the store: what a call may send and where to, attachments, reply intents, the outbox, the audit.
 *
 * @module
 */

import type { TurnKey } from './contract.ts';

export type MediaKind = 'image' | 'video' | 'audio' | 'document';

/** `page`: the caller's own page. `channel`: a chat of the host's. `spoken`: the fallback text, on the line. */
export type ReplyRoute = 'page' | 'mms' | 'sms' | 'channel' | 'spoken';

/** Where a reply may go. The address is a number, a chat or a call; it is trusted and never shown. */
export interface ReplyTarget {
  readonly route: ReplyRoute;
  readonly address: string;
}

/** What was fixed for a session when it began. */
export interface CallMediaRow {
  readonly callId: string;
  readonly tenant: string;
  readonly sessionKey: string;
  /** Digest of the authorization it started with. */
  readonly revision: string;
  readonly tools: readonly string[];
  /** Every route that is open to this call, best first. */
  readonly targets: readonly ReplyTarget[];
  readonly createdAt: number;
}

export interface AttachmentRow {
  readonly tenant: string;
  readonly id: string;
  readonly kind: MediaKind;
  readonly mime: string;
  readonly name: string;
  /** Bytes. */
  readonly size: number;
  /** Hex. */
  readonly sha256: string;
  /** The one event it is bound to. */
  readonly event: TurnKey | null;
  readonly createdAt: number;
  readonly expiresAt: number;
}

export type NewAttachment = Omit<AttachmentRow, 'event'>;

export interface ReplyIntent {
  readonly tenant: string;
  /** The inbound event: the caller's turn. */
  readonly event: TurnKey;
  readonly toolCallId: string;
  readonly attachmentId: string;
  readonly kind: MediaKind;
  readonly caption: string;
  /** Said instead where nothing can be shown. */
  readonly fallback: string;
  readonly target: ReplyTarget;
  readonly requestId: string;
  readonly traceId: string;
  readonly createdAt: number;
  /** After this the reply is not sent any more. */
  readonly expiresAt: number;
}

/** `same`: this attachment is in this reply already. */
export type IntentOutcome = 'added' | 'same' | 'over_budget';

export type OutboxStatus = 'pending' | 'sending' | 'sent' | 'retryable' | 'dead_letter';

export const OUTBOX_STATUSES: readonly OutboxStatus[] = [
  'pending',
  'sending',
  'sent',
  'retryable',
  'dead_letter',
];

/** Why an attempt did not succeed; what a provider says is never kept. */
export type DeliveryErrorClass =
  | 'rate_limited'
  | 'timeout'
  | 'canceled'
  | 'invalid'
  | 'unauthenticated'
  | 'not_ready'
  | 'unavailable'
  | 'provider_rejected'
  | 'provider_error'
  | 'unknown'
  | 'attachment_missing'
  | 'call_ended'
  | 'expired'
  | 'turn_failed'
  | 'dropped'
  | 'preceding_segment_dead_lettered';

export interface OutboxRow {
  readonly tenant: string;
  readonly event: TurnKey;
  readonly segment: number;
  readonly deliveryId: string;
  readonly kind: MediaKind;
  readonly caption: string;
  readonly attachmentId: string;
  readonly fallback: string;
  readonly target: ReplyTarget;
  readonly requestId: string;
  readonly traceId: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  readonly status: OutboxStatus;
  /** Attempts begun. */
  readonly attempts: number;
  /** Grows with every claim; only who holds the newest may change the row. */
  readonly fence: number;
  readonly leaseOwner: string | null;
  readonly leaseUntil: number | null;
  readonly availableAt: number;
  /** The route of the attempt under way or last made. */
  readonly attemptRoute: ReplyRoute | null;
  readonly attemptAt: number | null;
  /** The provider's own id of what it accepted; never shown. */
  readonly providerRef: string | null;
  readonly lastError: DeliveryErrorClass | null;
  readonly deliveredBy: ReplyRoute | null;
  readonly finishedAt: number | null;
  /** Times a link to it was used. */
  readonly opens: number;
  /** What the provider said later of what it had accepted. */
  readonly receipt: DeliveryReceipt | null;
}

/** A provider's last word about a message: it is with the person, or it never will be. */
export type DeliveryReceipt = 'delivered' | 'failed';

/** A row that was claimed; `reconcile`: an attempt was under way when its lease ran out, ask before anything else. */
export interface ClaimedRow {
  readonly row: OutboxRow;
  readonly reconcile: boolean;
  /** It is another node's, which has left it lying; the call, and maybe the bytes, are there. */
  readonly isForeign: boolean;
}

export interface ClaimOptions {
  readonly owner: string;
  readonly now: number;
  readonly leaseMs: number;
  readonly limit: number;
  /** Takes what other nodes have left lying for so long as well, where the next attempt goes by one of these routes. */
  readonly takeOver?: { readonly routes: readonly ReplyRoute[]; readonly afterMs: number };
}

export type OutboxChange =
  | { readonly status: 'sent'; readonly by: ReplyRoute; readonly providerRef: string | null }
  | {
      readonly status: 'retryable';
      readonly error: DeliveryErrorClass;
      readonly availableAt: number;
      /** The attempt did not reach anybody and is not counted. */
      readonly uncounted?: boolean;
      /** The next attempt goes by another route. */
      readonly route?: ReplyRoute;
    }
  | { readonly status: 'dead_letter'; readonly error: DeliveryErrorClass }
  /** Nobody can tell: it stays `sending`, and is asked about again from then on. */
  | { readonly status: 'unknown'; readonly availableAt: number }
  /** The attempt goes on by another route. */
  | { readonly status: 'sending'; readonly route: ReplyRoute; readonly leaseUntil: number };

export interface ListOutbox {
  readonly status?: readonly OutboxStatus[];
  readonly callId?: string;
  readonly limit?: number;
}

export type MediaAuditType =
  | 'tool.allowed'
  | 'tool.denied'
  | 'tool.executed'
  | 'reply.queued'
  | 'reply.dropped'
  | 'delivery.sent'
  | 'delivery.retry_scheduled'
  | 'delivery.dead_lettered'
  | 'delivery.reconciled'
  | 'delivery.operator';

/** No arguments, results, captions, addresses, ids of attachments, URLs or words of a provider. */
export interface MediaAudit {
  /** Deterministic: the same thing twice is one entry. */
  readonly id: string;
  readonly at: number;
  readonly tenant: string;
  readonly type: MediaAuditType;
  readonly event: TurnKey;
  readonly tool: string | null;
  readonly detail: string | null;
}

export interface MediaStore {
  /** The first one holds; the same call again changes nothing. */
  recordCallMedia(row: CallMediaRow): Promise<void>;
  getCallMedia(callId: string): Promise<CallMediaRow | null>;
  /** The turn in which a tool call was made, where its outcome is known already. */
  turnOfToolCall(callId: string, toolCallId: string): Promise<number | null>;

  /** `same`: it was there, equal in all but its times. @throws VoiceError `STORE_CONFLICT` when it is another one */
  putAttachment(attachment: NewAttachment): Promise<'created' | 'same'>;
  /** Binds to an event that is there; again to the same one is fine. `false`: none such, too old, or bound elsewhere. */
  bindAttachment(tenant: string, id: string, event: TurnKey, now: number): Promise<boolean>;
  /** `null` unless tenant, id and event are right and it has not expired. */
  findAttachment(tenant: string, id: string, event: TurnKey, now: number): Promise<AttachmentRow | null>;
  /** Forgets what expired and what nothing waits for any more; resolves to digests that no row names now. */
  sweepAttachments(now: number, limit: number): Promise<string[]>;
  /** Which of these digests a row names. */
  usedDigests(digests: readonly string[]): Promise<string[]>;

  /** @param maxPerCall - intents that one call may record */
  addIntent(intent: ReplyIntent, maxPerCall: number): Promise<IntentOutcome>;
  /**
   * Audits that the tool did its work and marks its intents so, in one transaction; a tool whose outcome is in its
   * turn already (it was approved later) has its replies queued at once.
   */
  recordExecuted(event: TurnKey, toolCallId: string, audit: MediaAudit): Promise<void>;
  /** Queues what a crash kept from being queued, and drops what was never executed; resolves to how many of both. */
  recoverReplies(olderThan: number, limit: number): Promise<number>;

  /** @throws VoiceError `STORE_CONFLICT` when the id is taken by an entry that says something else */
  addMediaAudit(entry: MediaAudit): Promise<void>;
  /** Oldest first. */
  listMediaAudit(options?: { callId?: string; limit?: number }): Promise<MediaAudit[]>;

  /**
   * Takes due rows: ready ones, and ones whose lease ran out; this node's, and with `takeOver` those that another node
   * has left lying. A row waits while an earlier one of its reply is not done; rows past their end, or behind a dead
   * one, become dead letters.
   */
  claimOutbox(options: ClaimOptions): Promise<ClaimedRow[]>;
  /** `false`: another claim came after this fence, and nothing was changed. */
  changeOutbox(
    deliveryId: string,
    fence: number,
    change: OutboxChange,
    now: number,
    audit?: MediaAudit,
  ): Promise<boolean>;
  /**
   * The provider's later word about a delivery that is `sent`. `failed`: it is sent again by `next`, or is a dead letter
   * when there is none. The first word holds.
   *
   * @param providerRef - the provider's id of the message; a word about an earlier one changes nothing
   * @returns what it made of it: `early` while the attempt is not written down yet, `none` when it changes nothing
   */
  recordReceipt(
    deliveryId: string,
    providerRef: string,
    receipt: DeliveryReceipt,
    next: ReplyRoute | null,
    now: number,
    audit: MediaAudit,
  ): Promise<'recorded' | 'early' | 'none'>;
  getOutbox(deliveryId: string): Promise<OutboxRow | null>;
  /** Newest first. */
  listOutbox(options?: ListOutbox): Promise<OutboxRow[]>;
  /** Makes waiting rows of a call's page due now. */
  wakeOutbox(callId: string, route: ReplyRoute, now: number): Promise<void>;
  /** By hand: sends again what failed or nobody can tell about. `false` when it is sent, under way, or too old. */
  retryOutbox(deliveryId: string, now: number): Promise<boolean>;
  /** By hand: gives up. `false` when it is done already. */
  dropOutbox(deliveryId: string, now: number): Promise<boolean>;
  /** Uses a link once; `false` when it was used `max` times. */
  openOutboxLink(deliveryId: string, max: number): Promise<boolean>;
  /** Forgets finished rows, intents, audit and call records older than this; resolves to how many rows. */
  pruneMedia(olderThan: number): Promise<number>;
}
