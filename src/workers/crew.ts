/**
 * Processes of one program, each with a number: started, and replaced when they die.
 *
 * @module
 */

import { type Clock, delay } from '../clock.ts';
import { type ErrorCode, VoiceError } from '../errors.ts';
import type { Logger } from '../observe/index.ts';
import type { ToPrimary, ToWorker } from './messages.ts';
import { WorkerHandle } from './worker-handle.ts';

/** Waits before one that died is started again: none for the first, the last for all after. */
export const RESTART_WAITS_MS: readonly number[] = [0, 500, 1000, 2000, 5000, 10_000, 30_000];
/** One that lived so long begins with the first wait again. */
export const STEADY_MS = 60_000;

export type CrewMessage = Exclude<ToPrimary, { kind: 'ready' | 'failed' }>;

export interface CrewOptions {
  readonly size: number;
  readonly program: URL;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What each is told first. */
  readonly begin: (slot: number, isFirst: boolean) => Extract<ToWorker, { kind: 'begin' }>;
  readonly onMessage: (message: CrewMessage, worker: WorkerHandle) => void;
  readonly onReady: (worker: WorkerHandle) => void;
  /** One died that should not have. It is replaced when this is done. */
  readonly onDeath: (worker: WorkerHandle) => Promise<void>;
}

export class Crew {
  readonly #options: CrewOptions;
  readonly #workers = new Map<number, WorkerHandle>();
  /** Deaths in a row, by slot. */
  readonly #deaths = new Map<number, number>();
  readonly #starting = new Map<number, (error: VoiceError | null) => void>();
  readonly #stopping = new AbortController();
  #hasStarted = false;
  #turn = 0;
  #restarts = 0;

  constructor(options: CrewOptions) {
    this.#options = options;
  }

  /** How many were replaced. */
  get restarts(): number {
    return this.#restarts;
  }

  get isStopping(): boolean {
    return this.#stopping.signal.aborted;
  }

  /**
   * The first starts alone: it makes what is made once. Resolves when all are ready, with what the first one said.
   *
   * @throws VoiceError what stops one from starting
   */
  async start(): Promise<unknown> {
    await this.#begin(0, true);
    const rest = Array.from({ length: this.#options.size - 1 }, (_, index) => this.#begin(index + 1, false));
    await Promise.all(rest);
    this.#hasStarted = true;
    return this.#workers.get(0)?.facts;
  }

  get ready(): readonly WorkerHandle[] {
    return [...this.#workers.values()].filter(({ isReady }) => isReady);
  }

  /** The one whose turn it is, of those that are ready. */
  next(ready = this.ready): WorkerHandle | null {
    return ready[this.#turn++ % ready.length] ?? null;
  }

  /** None is replaced any more; resolves when all have ended, or were killed because they had not by then. */
  async stop(limitMs: number): Promise<void> {
    this.#stopping.abort();
    const workers = [...this.#workers.values()];
    for (const worker of workers) worker.send({ kind: 'drain' });
    const limit = this.#options.clock.setTimeout(() => this.kill(), limitMs);
    await Promise.all(workers.map(({ exited }) => exited));
    limit.clear();
  }

  kill(): void {
    this.#stopping.abort();
    for (const worker of this.#workers.values()) worker.kill();
  }

  /** @throws VoiceError what stops it from starting */
  #begin(slot: number, isFirst: boolean): Promise<void> {
    const { program, env, clock, begin } = this.#options;
    return new Promise((resolve, reject) => {
      this.#starting.set(slot, (error) => {
        this.#starting.delete(slot);
        if (error) reject(error);
        else resolve();
      });
      const worker = new WorkerHandle({
        slot,
        program,
        env,
        clock,
        onMessage: (message, from) => this.#onMessage(message, from),
        onExit: (from) => void this.#onExit(from),
      });
      this.#workers.set(slot, worker);
      worker.send(begin(slot, isFirst));
    });
  }

  #onMessage(message: ToPrimary, worker: WorkerHandle): void {
    switch (message.kind) {
      case 'ready':
        worker.isReady = true;
        worker.facts = message.facts;
        this.#options.onReady(worker);
        this.#starting.get(worker.slot)?.(null);
        break;
      case 'failed':
        this.#starting.get(worker.slot)?.(startError(message.code, message.message));
        break;
      default:
        this.#options.onMessage(message, worker);
    }
  }

  async #onExit(worker: WorkerHandle): Promise<void> {
    const { slot } = worker;
    const { clock, logger, onDeath } = this.#options;
    if (this.#workers.get(slot) === worker) this.#workers.delete(slot);
    this.#starting.get(slot)?.(new VoiceError('WORKER_FAILED', 'A worker ended before it was ready.'));
    if (this.isStopping || !this.#hasStarted) return;
    await onDeath(worker);
    const deaths = clock.now() - worker.startedAt > STEADY_MS ? 0 : (this.#deaths.get(slot) ?? 0);
    this.#deaths.set(slot, deaths + 1);
    const waitMs = RESTART_WAITS_MS[Math.min(deaths, RESTART_WAITS_MS.length - 1)] ?? 0;
    if (!(await delay(clock, waitMs, this.#stopping.signal))) return;
    this.#restarts += 1;
    await this.#begin(slot, false).catch((error: unknown) => {
      const code = error instanceof VoiceError ? error.code : 'INTERNAL';
      logger.error({ worker: slot, code }, 'a worker could not be replaced');
    });
  }
}

function startError(code: ErrorCode | null, message: string): VoiceError {
  return new VoiceError(code ?? 'WORKER_FAILED', message);
}
