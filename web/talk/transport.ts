/**
 * One connection to a call, whichever way it goes.
 *
 * @module
 */

import { MessageJoiner, MessageSplitter } from '../../src/leg/page/parts.ts';
import { type PageCommandInput, type PageEvent, pageEventSchema } from '../../src/leg/page/protocol.ts';
import type { LineCounters } from './quality.ts';

export interface TransportEvents {
  /** The gateway took the call; nothing is heard yet. */
  answered(callId: string): void;
  /** The gateway's code, or `NETWORK`. */
  refused(code: string): void;
  /** Sound can be heard from here on. */
  remote(stream: MediaStream): void;
  wobbled(): void;
  steadied(): void;
  /** It is over, and not because of a goodbye. */
  lost(): void;
  /** `welcome` is the first. */
  told(event: PageEvent): void;
}

export interface Transport {
  open(): Promise<void>;
  /** Nothing happens while it is not open. */
  send(command: PageCommandInput): void;
  setMicrophone(stream: MediaStream): void;
  counters(): Promise<LineCounters | null>;
  /** Ends the call. */
  hangup(): void;
  /** Leaves this connection; the call goes on. No event follows. */
  close(): void;
}

/** The protocol's messages over whatever carries text. */
export class Channel {
  readonly #splitter = new MessageSplitter();
  readonly #joiner = new MessageJoiner();

  wire(command: PageCommandInput): string[] {
    return this.#splitter.split(JSON.stringify(command));
  }

  /** @returns `null` for a part, and for what this page does not know */
  read(wire: string): PageEvent | null {
    try {
      return pageEventSchema.safeParse(this.#joiner.join(wire)).data ?? null;
    } catch {
      return null;
    }
  }
}
