/**
 * What the process that listens and its workers say to each other, over the channel that Node opens between a process and
 * its child. Both ends are ours and of one version.
 *
 * @module
 */

import type { ErrorCode } from '../errors.ts';
import type { SlotQuestion } from '../worker-slot.ts';

/** Each question and each answer waits no longer for the other side. */
export const ASK_TIMEOUT_MS = 2000;

export type ToWorker =
  | {
      readonly kind: 'begin';
      readonly slot: number;
      readonly of: number;
      /** The first of a whole gateway: what any process before left behind is its to put in order. */
      readonly isFirst: boolean;
      readonly address: { readonly host: string; readonly port: number; readonly url: string };
      /** What the worker composes itself from; the workers' own to read. */
      readonly setup: unknown;
    }
  /** Comes with a socket, what was read of it, and whose it is where the socket itself does not say so. */
  | {
      readonly kind: 'connection';
      readonly id: number;
      readonly bytes: string;
      readonly from: string | null;
    }
  | { readonly kind: 'question'; readonly id: number; readonly question: SlotQuestion }
  /** To a question of the worker's; or whether it got its line. */
  | { readonly kind: 'answers'; readonly id: number; readonly answers: readonly unknown[] }
  | { readonly kind: 'drain' };

export type ToPrimary =
  /** The connection is here: from now on it lives and dies with this worker. */
  | { readonly kind: 'taken'; readonly id: number }
  | { readonly kind: 'ready'; readonly facts: unknown }
  | { readonly kind: 'failed'; readonly code: ErrorCode | null; readonly message: string }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | {
      readonly kind: 'ask';
      readonly id: number;
      readonly to: 'others' | 'freest';
      readonly question: SlotQuestion;
    }
  | { readonly kind: 'take_line'; readonly id: number }
  | { readonly kind: 'release_line' };
