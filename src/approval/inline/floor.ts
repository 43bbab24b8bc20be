/**
 * What a call lends to the conductor of approvals, and what it gets back. The call implements `ApprovalFloor`; it feeds the
 * `FloorLine` that attaching returns.
 *
 * @module
 */

import type { AudioData, AudioFormat } from '../../audio/index.ts';

export interface ApprovalFloor {
  readonly callId: string;
  readonly sessionKey: string;
  readonly caller: {
    readonly strength: 'none' | 'claimed' | 'attested' | 'authenticated';
    /** Caller id or login, `null` when withheld. Never logged. */
    readonly id: string | null;
  };
  /** The line carries keys. */
  readonly keys: boolean;
  /** The caller has an authenticated page with buttons. */
  readonly screen: boolean;
  /** Format of `FloorLine.audio`. */
  readonly format: AudioFormat;
  /** Nobody speaks and nothing is about to be said. */
  isQuiet(): boolean;
  /** From here on the model's audio is held, the caller's is not given to it, and idle hang-up is suspended. */
  take(): void;
  /**
   * The end of it: what was held is played.
   *
   * @param kept - audio of the caller's that was no decision, for the model
   */
  release(kept: readonly AudioData[]): void;
  /** Says a text word for word, by our own voice. Resolves to whether it was heard to its end. Always settles. */
  say(text: string): Promise<boolean>;
  /** Stops what `say` is saying; it resolves to false. */
  hush(): void;
  /** On the clock's `now`: when something of ours was last to be heard on the line; now, while it is. */
  lastAudibleAt(): number;
  /** Puts a new item into the conversation and asks for one response. */
  tell(text: string): void;
}

export interface FloorLine {
  /** Something is being asked, or waits for the floor: idle hang-up stands still. */
  readonly isAsking: boolean;
  /** The caller's audio. True: it is not for the model. */
  audio(audio: AudioData): boolean;
  /** A key. True: it was for us, and nobody else hears of it. */
  digit(digit: string): boolean;
  /** Typed text. True: it was a decision. */
  text(text: string): boolean;
  /** Called every 20 ms or so. */
  tick(now: number): void;
  /** The caller's connection came back: what was being asked is asked again, and old answers are stale. */
  reconnected(): void;
  /**
   * The call is over.
   *
   * @param lost - the connection dropped: the same session may come back
   */
  hungUp(lost: boolean): void;
}
