/**
 * Brings what became of a request back to the session it came from: into the conversation when its caller is on the line,
 * else as a message. Each outcome once.
 *
 * @module
 */

import { isVoiceError } from '../errors.ts';
import type { Logger } from '../observe/index.ts';
import { type ApprovalRow, type ApprovalStatus, TERMINAL_APPROVALS } from '../store/index.ts';
import type { Approvals } from './approvals.ts';
import { laterText } from './outcome-texts.ts';

/** Where outcomes can go. */
export interface Destinations {
  /** Tells the model of the call that asked, or of another one of its session; `false` when neither is live. */
  tell(whose: Pick<ApprovalRow, 'callId' | 'sessionKey'>, text: string): boolean;
  isLive(whose: Pick<ApprovalRow, 'callId' | 'sessionKey'>): boolean;
  /** Sends a message to the chat of the host's other channels; `false` when it can't be. */
  message(to: { channel: string; chatId: string }, text: string): boolean;
}

/** Outcomes that wait for a session to call again. */
const MAX_WAITING = 20;
/** What is still told to a session that comes back. */
const KEEP_MS = 7 * 24 * 3_600_000;

const isTerminal = (status: ApprovalStatus) => TERMINAL_APPROVALS.includes(status);

export class OutcomeDelivery {
  readonly #approvals: Approvals;
  readonly #to: Destinations;
  readonly #logger: Logger;
  readonly #now: () => number;
  readonly #stop: () => void;

  constructor(approvals: Approvals, to: Destinations, now: () => number, logger: Logger) {
    this.#approvals = approvals;
    this.#to = to;
    this.#now = now;
    this.#logger = logger;
    const isOwed = (record: ApprovalRow) =>
      isTerminal(record.status) && record.deliveredAt === null && record.resolution === null;
    const stops = [
      approvals.on('changed', (record) => {
        if (isOwed(record)) void this.#deliver(record);
      }),
      // Whoever changed it tells it where it can; here it is told only if its caller is here.
      approvals.on('changedElsewhere', (record) => {
        if (isOwed(record) && to.isLive(record)) void this.#deliver(record);
      }),
    ];
    this.#stop = () => {
      for (const stop of stops) stop();
    };
  }

  close(): void {
    this.#stop();
  }

  /** A session is on the line again: what it has not been told yet is told. */
  async catchUp(sessionKey: string): Promise<void> {
    try {
      const { store } = this.#approvals;
      const waiting = await store.listApprovals({
        sessionKey,
        status: TERMINAL_APPROVALS,
        undelivered: true,
        limit: MAX_WAITING,
      });
      const young = waiting.filter(
        (record) => this.#now() - (record.finishedAt ?? record.createdAt) < KEEP_MS,
      );
      for (const record of young.reverse()) await this.#deliver(record);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Claims the outcome first, so that of two who would tell it only one does. */
  async #deliver(record: ApprovalRow): Promise<void> {
    try {
      const expected = { status: [record.status], undelivered: true } as const;
      const event = { kind: 'delivered', by: null, input: null } as const;
      const claimed = await this.#approvals.change(record.id, expected, { deliveredAt: this.#now() }, event);
      if (!claimed) return;
      const text = laterText(record, record.outcome);
      if (this.#to.tell(record, text)) return;
      if (this.#to.message({ channel: record.channel, chatId: record.chatId }, text)) return;
      // Nobody there: it stays owed.
      await this.#approvals.store.changeApproval(
        record.id,
        { status: [record.status] },
        { deliveredAt: null },
        { at: this.#now(), kind: 'refused', by: 'delivery', input: null },
      );
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    this.#logger.warn({ code: isVoiceError(error) ? error.code : null }, 'an outcome could not be delivered');
  }
}
