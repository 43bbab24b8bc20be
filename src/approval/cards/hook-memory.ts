/**
 * Messages that decided already: one that is sent again decides nothing, after a restart and in another process neither.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import type { ApprovalGuardStore } from '../../store/index.ts';
import { sha256 } from '../canonical-json.ts';
import type { WebhookDecision } from './decision.ts';

/** Messages remembered; beyond it the oldest are forgotten. */
export const MAX_HOOK_MESSAGES = 5000;
/** How long, at most. Where a signature counts longer, its request was decided or is over by then. */
export const HOOK_MEMORY_MS = 7 * 24 * 3_600_000;

export class HookMemory {
  readonly #store: Pick<ApprovalGuardStore, 'rememberMessage'>;
  readonly #clock: Clock;

  constructor(store: Pick<ApprovalGuardStore, 'rememberMessage'>, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Whether the message is new; from here on it is not. @throws VoiceError `STORE_UNAVAILABLE` */
  isNew({ replayKey }: Pick<WebhookDecision, 'replayKey'>): Promise<boolean> {
    return this.#store.rememberMessage(sha256(replayKey), this.#clock.wallNow(), MAX_HOOK_MESSAGES);
  }
}
