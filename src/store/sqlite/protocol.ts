import type { ErrorCode } from '../../errors.ts';
import type { FullStore } from '../contract.ts';

/** The first message to the thread: what to open. */
export interface StoreOpening {
  readonly file: string;
  readonly node: string;
  /** Tests only: every commit takes this much longer, as on a slow disk. */
  readonly testCommitDelayMs?: number;
  /** Tests only: the thread dies before its n-th commit (1 is the first) after the migrations. */
  readonly testExitAtCommit?: number;
}

/** What the worker is asked; it has nothing to watch with. */
export type StoreMethod = Exclude<keyof FullStore, 'close' | 'watchApprovals'>;

export interface StoreRequest {
  readonly id: number;
  readonly method: StoreMethod | 'close';
  readonly args: readonly unknown[];
}

/** `code` and `message` rebuild a `VoiceError` on the other side; a cause does not cross. */
export type StoreReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string }
  | { readonly kind: 'ok'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'error'; readonly id: number; readonly code: ErrorCode; readonly message: string };
