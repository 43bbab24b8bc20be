/**
 * What is compared: something that stands between a Twilio stream and a realtime model, seen from its two ends only.
 *
 * @module
 */

import type { TextSocket } from '../../src/leg/index.ts';

export interface PeerTool {
  readonly name: string;
  readonly latencyMs: number;
  readonly output: string;
}

export interface PeerSetup {
  /** Address of the realtime model, `ws://127.0.0.1:…`. */
  readonly modelUrl: string;
  /** Our end of the carrier's stream; `start` has not been sent yet. */
  readonly socket: TextSocket;
  readonly tools: readonly PeerTool[];
}

export interface Peer {
  readonly name: string;
  /** Takes the stream. Resolves once the model's session is there. */
  answer(setup: PeerSetup): Promise<{ close(): Promise<void> }>;
}

/** Name of the tool with which the model ends the call; each peer has its own way to make that true. */
export const HANG_UP = 'end_call';
