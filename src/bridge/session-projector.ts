/**
 * Brings the host's session files up to date with our store: each final turn once, in order, however often this runs
 * and wherever it was cut off. The store is the truth; the host's file is a projection of it.
 *
 * @module
 */

import type { Clock, ClockTimer } from '../clock.ts';
import { isVoiceError } from '../errors.ts';
import { RPC, RpcError } from '../gateway/remote/index.ts';
import type { Logger } from '../observe/index.ts';
import type { Store, TurnRow } from '../store/index.ts';
import { type SessionRow, turnKey, turnRows } from './turn-rows.ts';

/** Turns that are looked at in one go. */
export const PROJECTION_PAGE = 200;
/** Waits before what failed is tried again; the last one is for good. */
export const RETRY_DELAYS_MS: readonly number[] = [1000, 5000, 30_000];

export interface SessionProjectorOptions {
  readonly store: Pick<Store, 'listUnprojectedTurns' | 'markProjected'>;
  /** @throws RpcError */
  readonly append: (sessionKey: string, key: string, rows: readonly SessionRow[]) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What can never succeed is not tried again. */
const FINAL_CODES: ReadonlySet<number> = new Set([
  RPC.invalidParams,
  RPC.refused,
  RPC.notPossible,
  RPC.unknownMethod,
]);

export class SessionProjector {
  readonly #options: SessionProjectorOptions;
  #running: Promise<void> | null = null;
  #isWanted = false;
  #failures = 0;
  #retry: ClockTimer | null = null;
  #isClosed = false;

  constructor(options: SessionProjectorOptions) {
    this.#options = options;
  }

  /** Asked for again while it runs, it runs once more. Never rejects. */
  project(): Promise<void> {
    this.#isWanted = true;
    this.#running ??= this.#untilNobodyAsks().finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Writes what is there, once, and stops. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#retry?.clear();
    await this.project();
  }

  async #untilNobodyAsks(): Promise<void> {
    while (this.#isWanted) {
      this.#isWanted = false;
      this.#retry?.clear();
      const isDone = await this.#run();
      this.#failures = isDone ? 0 : this.#failures + 1;
    }
    if (this.#failures > 0 && !this.#isClosed) {
      const wait = RETRY_DELAYS_MS[Math.min(this.#failures, RETRY_DELAYS_MS.length) - 1] ?? 0;
      this.#retry = this.#options.clock.setTimeout(() => void this.project(), wait);
    }
  }

  /** Whether everything that is final is written. */
  async #run(): Promise<boolean> {
    const { store, logger } = this.#options;
    // A session that failed keeps its order: what follows in it waits.
    const failed = new Set<string>();
    try {
      for (;;) {
        const page = await store.listUnprojectedTurns(PROJECTION_PAGE);
        let written = 0;
        for (const turn of page) {
          if (failed.has(turn.sessionKey)) continue;
          if (await this.#write(turn)) {
            await store.markProjected([{ callId: turn.callId, turn: turn.turn }]);
            written++;
          } else failed.add(turn.sessionKey);
        }
        if (page.length < PROJECTION_PAGE || written === 0) return failed.size === 0;
      }
    } catch (error) {
      logger.warn(
        { code: isVoiceError(error) ? error.code : null },
        'the host’s sessions could not be brought up to date',
      );
      return false;
    }
  }

  async #write(turn: TurnRow): Promise<boolean> {
    const rows = turnRows(turn);
    if (rows.length === 0) return true;
    try {
      await this.#options.append(turn.sessionKey, turnKey(turn), rows);
      return true;
    } catch (error) {
      const code = error instanceof RpcError ? error.code : null;
      const isFinal = code !== null && FINAL_CODES.has(code);
      this.#options.logger.warn(
        { code, callId: turn.callId, turn: turn.turn },
        isFinal
          ? 'the host does not take a turn into its session'
          : 'a turn waits to be written into the host’s session',
      );
      return isFinal;
    }
  }
}
