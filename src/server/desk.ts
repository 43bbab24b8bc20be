/**
 * What the server needs of the call engine.
 *
 * @module
 */

import type { CallLeg, LegCapabilities } from '../leg/index.ts';

export interface CallerInfo {
  readonly identity: {
    readonly strength: 'none' | 'claimed' | 'attested' | 'authenticated';
    readonly id: string | null;
  };
  /** What was called, or ''. */
  readonly route: string;
  readonly carrier: string;
  readonly carrierCallId: string;
  readonly leg: LegCapabilities;
}

export interface CallDesk {
  /**
   * Opens the model session of a verified incoming call, once per `carrierCallId`. It closes by itself when no
   * leg is attached within 30 s.
   *
   * @throws VoiceError `CALL_LIMIT_REACHED`, `CALL_REFUSED`, `SHUTTING_DOWN`, `MODEL_*`
   */
  admit(info: CallerInfo): Promise<{ callId: string }>;
  /** @throws VoiceError `CALL_NOT_FOUND` */
  attach(callId: string, leg: CallLeg): void;
  readonly activeCalls: number;
  readonly pendingCalls: number;
  /** No new calls; resolves when all have ended, or were hung up because the bound passed. */
  drain(timeoutMs: number): Promise<void>;
}
