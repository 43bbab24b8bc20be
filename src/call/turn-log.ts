/**
 * Writes the truth of a call to the store, in order and in the background: a slow or broken disk is never heard.
 * A turn is opened when the caller's speech is committed; its outcome follows as it becomes known.
 *
 * @module
 */

import type { Clock } from '../clock.ts';
import type { Store, ToolOutcome } from '../store/index.ts';

/** Writes that may wait; beyond it the store counts as failed and further writes are counted and left out. */
export const MAX_PENDING_WRITES = 512;
/** How long a turn waits for the caller's words before it is final without them. */
export const TRANSCRIPT_WAIT_MS = 5000;
/** Responses and input items whose turn is remembered. */
export const MAX_TURN_LINKS = 512;

interface OpenTurn {
  readonly turn: number;
  readonly openedAt: number;
  userText: string | null;
  assistantText: string;
  pendingTools: number;
}

export interface TurnLogOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly callId: string;
  readonly sessionKey: string;
  /** A write failed; the call goes on. */
  readonly onError: (error: unknown) => void;
  /** A turn is complete in the store. */
  readonly onFinal?: () => void;
}

export class TurnLog {
  readonly #options: TurnLogOptions;
  readonly #open = new Map<number, OpenTurn>();
  readonly #turnOfItem = new Map<string, number>();
  readonly #turnOfResponse = new Map<string, number>();
  #current = -1;
  #closed = false;
  #queue: Promise<void> = Promise.resolve();
  #pending = 0;

  constructor(options: TurnLogOptions) {
    this.#options = options;
  }

  get current(): number {
    return Math.max(0, this.#current);
  }

  /** Turn 0 is the call's start; each further one is a committed turn of the caller. */
  begin(inputItemId: string | null, now: number): number {
    const turn = ++this.#current;
    this.#open.set(turn, {
      turn,
      openedAt: now,
      userText: inputItemId === null ? '' : null,
      assistantText: '',
      pendingTools: 0,
    });
    if (inputItemId !== null) link(this.#turnOfItem, inputItemId, turn);
    const { store, clock, callId, sessionKey } = this.#options;
    this.#write(() => store.openTurn({ callId, turn, sessionKey, startedAt: clock.wallNow() }));
    return turn;
  }

  responseStarted(responseId: string): void {
    link(this.#turnOfResponse, responseId, this.current);
  }

  turnOfResponse(responseId: string): number {
    return this.#turnOfResponse.get(responseId) ?? this.current;
  }

  /** Whether this turn of the caller's was begun. */
  knowsItem(itemId: string): boolean {
    return this.#turnOfItem.has(itemId);
  }

  turnOfItem(itemId: string): number {
    return this.#turnOfItem.get(itemId) ?? this.current;
  }

  /** The caller's words. */
  userText(itemId: string, text: string): void {
    const turn = this.turnOfItem(itemId);
    const open = this.#open.get(turn);
    if (open) open.userText = text;
    this.#write(() => this.#options.store.commitTurn(this.#options.callId, turn, { userText: text }));
  }

  /** Words that the caller heard. */
  assistantText(turn: number, words: string): void {
    if (words === '') return;
    const open = this.#open.get(turn);
    if (!open) return;
    open.assistantText = open.assistantText === '' ? words : `${open.assistantText} ${words}`;
    const assistantText = open.assistantText;
    this.#write(() => this.#options.store.commitTurn(this.#options.callId, turn, { assistantText }));
  }

  toolStarted(turn: number): void {
    const open = this.#open.get(turn);
    if (open) open.pendingTools++;
  }

  toolEnded(turn: number, outcome: ToolOutcome): void {
    const open = this.#open.get(turn);
    if (open) open.pendingTools--;
    this.#write(() => this.#options.store.commitTurn(this.#options.callId, turn, { tools: [outcome] }));
    if (this.#closed && open?.pendingTools === 0) this.#finalise(turn);
  }

  /**
   * Something of after the call that belongs into the session: a turn of its own, complete at once. The session holds a
   * turn once, whatever is cut off on the way there.
   */
  afterwards(text: string): void {
    const turn = ++this.#current;
    const { store, clock, callId, sessionKey } = this.#options;
    this.#write(async () => {
      const at = clock.wallNow();
      await store.openTurn({ callId, turn, sessionKey, startedAt: at });
      await store.commitTurn(callId, turn, { userText: '', assistantText: text, finalAt: at });
      this.#options.onFinal?.();
    });
  }

  settleReplies(turn: number, replies: 'release' | 'drop'): void {
    this.#write(() => this.#options.store.commitTurn(this.#options.callId, turn, { replies }));
  }

  /** Finalises turns that can't change any more. */
  tick(now: number): void {
    for (const open of this.#open.values()) {
      if (open.turn >= this.#current || open.pendingTools > 0) continue;
      if (open.userText === null && now - open.openedAt < TRANSCRIPT_WAIT_MS) continue;
      this.#finalise(open.turn);
    }
  }

  /**
   * The call is over: every turn is final, but those whose tools may outlive the call, which wait for them. Resolves
   * when all that is known is written.
   */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { turn, pendingTools } of [...this.#open.values()])
      if (pendingTools === 0) this.#finalise(turn);
    await this.flushed();
  }

  /** Adds a write of the caller's own to the queue, behind the ones before it. */
  write(work: () => Promise<unknown>): void {
    this.#write(work);
  }

  flushed(): Promise<void> {
    return this.#queue;
  }

  #finalise(turn: number): void {
    this.#open.delete(turn);
    const { store, clock, callId } = this.#options;
    this.#write(async () => {
      await store.commitTurn(callId, turn, { finalAt: clock.wallNow() });
      this.#options.onFinal?.();
    });
  }

  #write(work: () => Promise<unknown>): void {
    if (this.#pending >= MAX_PENDING_WRITES) {
      this.#options.onError(new Error('too many writes are waiting for the store'));
      return;
    }
    this.#pending++;
    this.#queue = this.#options.clock.track(
      this.#queue
        .then(work)
        .then(
          () => {},
          (error: unknown) => this.#options.onError(error),
        )
        .then(() => {
          this.#pending--;
        }),
    );
  }
}

function link(map: Map<string, number>, key: string, turn: number): void {
  map.set(key, turn);
  if (map.size <= MAX_TURN_LINKS) return;
  const oldest = map.keys().next().value;
  if (oldest !== undefined) map.delete(oldest);
}
