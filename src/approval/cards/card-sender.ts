/**
 * Tells people outside that something waits: chats of the host's other channels, and chat services by webhook. Nothing is
 * sent without a place to send it to; what can't be sent still stands on the board.
 *
 * @module
 */

import { type Clock, delay } from '../../clock.ts';
import type { ToolGateConfig } from '../../config-approvals.ts';
import type { Logger } from '../../observe/index.ts';
import type { ApprovalRow } from '../../store/index.ts';
import type { Policy } from '../policy.ts';
import { mattermostCard } from './mattermost.ts';
import { signedCard } from './signed.ts';
import { slackCard } from './slack.ts';

/** Cards under way; one more is left to the board. */
export const MAX_CARDS_UNDER_WAY = 64;
/** Waits before a card is sent again. */
export const CARD_RETRY_DELAYS_MS: readonly number[] = [1000, 5000, 30_000];
const CARD_TIMEOUT_MS = 10_000;

export interface CardRequest {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Resolves to the status; rejects when nobody answers. */
export type SendCard = (request: CardRequest, signal: AbortSignal) => Promise<number>;

export interface CardSenderOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: () => Policy;
  readonly publicBase: () => string | null;
  readonly send?: SendCard;
  readonly message: (to: { channel: string; chatId: string }, text: string) => boolean;
}

const fetchCard: SendCard = async ({ url, headers, body }, signal) => {
  const response = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
  await response.body?.cancel();
  return response.status;
};

type Webhook = ToolGateConfig['deferred']['card']['webhooks'][number];

export class CardSender {
  readonly #options: CardSenderOptions;
  readonly #stop = new AbortController();
  /** Cards that were opened by this process, so that a change of the record is no second card. */
  readonly #opened = new Set<string>();
  #underWay = 0;

  constructor(options: CardSenderOptions) {
    this.#options = options;
  }

  follow(record: ApprovalRow): void {
    if (record.status !== 'pending' || record.mode !== 'deferred') {
      this.#opened.delete(record.id);
      return;
    }
    if (this.#opened.has(record.id) || this.#opened.size >= MAX_OPENED) return;
    this.#opened.add(record.id);
    const { card } = this.#options.policy().config.deferred;
    for (const place of card.notify) this.#notify(place, record, card.assignee);
    for (const webhook of card.webhooks) void this.#post(webhook, record, card.assignee);
  }

  close(): void {
    this.#stop.abort();
  }

  #notify(place: string, record: ApprovalRow, assignee: string): void {
    const colon = place.indexOf(':');
    const to = { channel: place.slice(0, colon), chatId: place.slice(colon + 1) };
    const short = record.id.slice(0, 8);
    const text = `Waiting for approval (${assignee}): ${record.summary}\n/approve ${short} or /deny ${short} [reason]`;
    if (!this.#options.message(to, text))
      this.#options.logger.warn('a chat could not be told of an approval');
  }

  async #post(webhook: Webhook, record: ApprovalRow, assignee: string): Promise<void> {
    const { clock, logger, send = fetchCard, publicBase } = this.#options;
    if (this.#underWay >= MAX_CARDS_UNDER_WAY) {
      logger.warn('too many cards are under way; this one stands on the board only');
      return;
    }
    this.#underWay++;
    try {
      for (let attempt = 0; ; attempt++) {
        const request = cardRequest(webhook, record, assignee, publicBase(), clock.wallNow());
        const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(CARD_TIMEOUT_MS)]);
        const status = await send(request, signal).catch(() => 0);
        if (status >= 200 && status < 300) return;
        const again = status === 0 || status === 429 || status >= 500;
        const wait = CARD_RETRY_DELAYS_MS[attempt];
        if (!again || wait === undefined || !(await delay(clock, wait, this.#stop.signal))) {
          logger.warn({ kind: webhook.kind, status }, 'a card could not be sent; it stands on the board');
          return;
        }
      }
    } finally {
      this.#underWay--;
    }
  }
}

/** Cards remembered as sent. */
const MAX_OPENED = 2000;

function cardRequest(
  webhook: Webhook,
  record: ApprovalRow,
  assignee: string,
  base: string | null,
  now: number,
): CardRequest {
  switch (webhook.kind) {
    case 'slack':
      return json(webhook.url, slackCard(record, assignee));
    case 'mattermost':
      return json(webhook.url, mattermostCard(record, assignee, webhook.secret, base));
    case 'signed':
      return { url: webhook.url, ...signedCard(record, assignee, webhook.secret, now) };
    default:
      return webhook satisfies never;
  }
}

const json = (url: string, body: unknown): CardRequest => ({
  url,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
});
