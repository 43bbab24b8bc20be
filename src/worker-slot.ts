/**
 * One worker process among several that share a port: its name inside of what others are given, and what it asks of the
 * rest. Without workers there is no slot, and nothing is named.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';

/** Worker processes of one gateway at most: a name is one character. */
export const MAX_WORKERS = 64;

const TAGS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

/** The character that stands in front of a secret; the secret behind it is as long as ever. */
export function tagOfSlot(index: number): string {
  return TAGS[index] ?? '';
}

/**
 * The slot that a secret names.
 *
 * @param chars - length of the secret without a name
 */
export function slotOfSecret(secret: string, chars: number): number | null {
  if (secret.length !== chars + 1) return null;
  const index = TAGS.indexOf(secret.charAt(0));
  return index < 0 ? null : index;
}

/** Two hex digits that stand in front of an id. */
export function hexOfSlot(index: number): string {
  return index.toString(16).padStart(2, '0');
}

/** The slot that the first two of hex digits name. */
export function slotOfHex(id: string): number | null {
  const index = /^[0-9a-f]{2}/.test(id) ? Number.parseInt(id.slice(0, 2), 16) : MAX_WORKERS;
  return index < MAX_WORKERS ? index : null;
}

/** A call's id, 32 hex digits; the first two name the worker that has the call, the rest is random. */
export function newCallId(slot: Pick<WorkerSlot, 'index'> | null): string {
  const id = randomBytes(16).toString('hex');
  return slot ? hexOfSlot(slot.index) + id.slice(2) : id;
}

/** A guest's link that waits to be used, or a guest who is in; as `GET /page/links` shows them. */
export interface SharedLinks {
  readonly links: readonly unknown[];
  readonly guests: readonly unknown[];
}

/** What one worker can be asked by another one, or by the process that started them. */
export type SlotQuestion =
  | { readonly kind: 'ready' }
  | { readonly kind: 'figures' }
  | { readonly kind: 'metrics' }
  | { readonly kind: 'links' }
  | { readonly kind: 'new_link'; readonly note: string; readonly ttlMs: number }
  | { readonly kind: 'remove_link'; readonly id: string }
  | { readonly kind: 'hang_up'; readonly callId: string }
  /** Says it to the caller of that chat, where there is one. */
  | { readonly kind: 'speak'; readonly chatId: string; readonly text: string }
  /** The worker of this slot died at that moment, epoch ms: its calls are over. */
  | { readonly kind: 'bury'; readonly slot: number; readonly diedAt: number };

export interface SlotAnswers {
  readonly ready: { readonly ready: boolean; readonly checks: Readonly<Record<string, 'ok' | 'failed'>> };
  readonly figures: { readonly live: number; readonly pending: number; readonly page: number };
  readonly metrics: readonly object[];
  readonly links: SharedLinks;
  /** `null` when too many wait already. */
  readonly new_link: { readonly code: string; readonly id: string; readonly expiresAt: number } | null;
  readonly remove_link: boolean;
  readonly hang_up: boolean;
  readonly speak: boolean;
  readonly bury: number;
}

export type SlotKind = SlotQuestion['kind'];
export type QuestionOf<K extends SlotKind> = Extract<SlotQuestion, { kind: K }>;

/** The bound of all calls, over all workers. */
export interface Lines {
  /** Whether there was a line for one more call. */
  take(): Promise<boolean>;
  release(): void;
}

export interface WorkerSlot {
  readonly index: number;
  readonly tag: string;
  /** Workers that there are when none is missing. */
  readonly of: number;
  readonly lines: Lines;
  /** Where all of them listen. */
  readonly address: { readonly host: string; readonly port: number; readonly url: string };
  /** Connections that came to the one port and are for this worker, with what was read of them in front. */
  onConnection(take: (socket: Socket) => void): void;
  /** What the others say; who does not answer in time, or can't, is left out. */
  askOthers<K extends SlotKind>(question: QuestionOf<K>): Promise<SlotAnswers[K][]>;
  /** Asks the worker with the fewest calls, which may be this one. `null` without an answer. */
  askFreest<K extends SlotKind>(question: QuestionOf<K>): Promise<SlotAnswers[K] | null>;
  /** What this worker says when it is asked. */
  answers<K extends SlotKind>(
    kind: K,
    answer: (question: QuestionOf<K>) => Promise<SlotAnswers[K]> | SlotAnswers[K],
  ): void;
}
