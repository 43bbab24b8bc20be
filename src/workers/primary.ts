/**
 * The process that listens: starts the workers, deals connections out to them, replaces those that die, and has the bound
 * of all calls. It carries no call and opens no store.
 *
 * @module
 */

import type { AddressInfo, Socket } from 'node:net';
import { type Clock, type ClockTimer, delay } from '../clock.ts';
import { type ErrorCode, VoiceError } from '../errors.ts';
import type { Logger } from '../observe/index.ts';
import type { QuestionOf, SlotAnswers, SlotKind } from '../worker-slot.ts';
import { CallPlaces } from './call-places.ts';
import { destinationOf } from './destination.ts';
import { FrontDoor, refuse } from './front-door.ts';
import type { ToPrimary } from './messages.ts';
import type { RequestHead } from './request-head.ts';
import { WorkerHandle } from './worker-handle.ts';

/** Waits before a worker that died is started again: none for the first, the last for all after. */
export const RESTART_WAITS_MS: readonly number[] = [0, 500, 1000, 2000, 5000, 10_000, 30_000];
/** A worker that lived so long begins with the first wait again. */
export const STEADY_MS = 60_000;
/** A connection for a worker that is just being replaced waits so long for it. */
export const HOLD_TIMEOUT_MS = 10_000;
/** Connections that wait for a worker at once. */
export const MAX_HELD_CONNECTIONS = 256;
/** Connections on their way to one worker at once; a worker that stands still gets no more. */
export const MAX_UNTAKEN_CONNECTIONS = 1024;
/** A worker that is still there so long after it should have ended is killed. */
const DRAIN_MARGIN_MS = 15_000;
/** How often calls that were sent to a worker and never came are forgotten. */
const SETTLE_MS = 1000;

export interface PrimaryOptions {
  readonly workers: number;
  readonly program: URL;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly host: string;
  readonly port: number;
  readonly maxCalls: number;
  /** Path of `server.publicUrl`, without a trailing slash. */
  readonly prefix: string;
  readonly drainTimeoutMs: number;
  /** What workers compose themselves from. */
  readonly setup: unknown;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Held {
  readonly socket: Socket;
  readonly head: RequestHead;
  readonly bytes: Buffer;
  readonly until: number;
}

export class Primary {
  readonly #options: PrimaryOptions;
  readonly #door: FrontDoor;
  readonly #places: CallPlaces;
  readonly #workers = new Map<number, WorkerHandle>();
  /** Deaths in a row, by slot. */
  readonly #deaths = new Map<number, number>();
  /** Slots whose worker died and whose calls are not written off yet. */
  readonly #unburied = new Set<number>();
  readonly #stopping = new AbortController();
  readonly #starting = new Map<number, (error: VoiceError | null) => void>();
  #held: Held[] = [];
  #holdTimer: ClockTimer | null = null;
  #settleTimer: ClockTimer | null = null;
  #address = { host: '', port: 0, url: '' };
  #hasStarted = false;
  #turn = 0;
  #restarts = 0;
  #handed = 0;

  constructor(options: PrimaryOptions) {
    this.#options = options;
    this.#places = new CallPlaces(options.maxCalls);
    this.#door = new FrontDoor({
      clock: options.clock,
      place: (socket, head, bytes) =>
        this.#place({ socket, head, bytes, until: options.clock.now() + HOLD_TIMEOUT_MS }),
    });
  }

  get address(): { readonly host: string; readonly port: number; readonly url: string } {
    return this.#address;
  }

  /** Calls of all workers. */
  get calls(): number {
    return this.#places.taken;
  }

  get counts(): {
    readonly ready: number;
    readonly restarts: number;
    readonly handed: number;
    readonly peeking: number;
  } {
    return {
      ready: this.#ready().length,
      restarts: this.#restarts,
      handed: this.#handed,
      peeking: this.#door.size,
    };
  }

  /**
   * Listens, and resolves with what the first worker says of itself once all are ready. The first starts alone: it brings
   * the store up to date, and makes what is made once.
   *
   * @throws VoiceError `ADDRESS_IN_USE`, and what stops a worker from starting
   */
  async start(): Promise<unknown> {
    await this.#listen();
    await this.#begin(0, true);
    const rest = Array.from({ length: this.#options.workers - 1 }, (_, index) =>
      this.#begin(index + 1, false),
    );
    await Promise.all(rest);
    this.#hasStarted = true;
    this.#armSettle();
    return this.#workers.get(0)?.facts;
  }

  /** What every worker that can says. */
  async askAll<K extends SlotKind>(question: QuestionOf<K>, except?: number): Promise<SlotAnswers[K][]> {
    const asked = this.#ready().filter(({ slot }) => slot !== except);
    const answers = await Promise.all(asked.map((worker) => worker.ask(question)));
    return answers.filter((each) => each !== undefined);
  }

  /** No new calls; resolves when every worker has ended, which each does with its last call or when its time is over. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    const { clock, drainTimeoutMs } = this.#options;
    const workers = [...this.#workers.values()];
    for (const worker of workers) worker.send({ kind: 'drain' });
    const limit = clock.setTimeout(() => this.kill(), drainTimeoutMs + DRAIN_MARGIN_MS);
    await Promise.all(workers.map(({ exited }) => exited));
    limit.clear();
    this.#close();
  }

  /** Ends every worker at once. */
  kill(): void {
    this.#stopping.abort();
    for (const worker of this.#workers.values()) worker.kill();
    this.#close();
  }

  #close(): void {
    this.#settleTimer?.clear();
    this.#holdTimer?.clear();
    for (const { socket } of this.#held.splice(0)) socket.destroy();
    this.#door.close();
  }

  #listen(): Promise<void> {
    const { host, port } = this.#options;
    const { server } = this.#door;
    return new Promise((resolve, reject) => {
      const onError = (cause: NodeJS.ErrnoException) => {
        const inUse = cause.code === 'EADDRINUSE';
        const text = inUse
          ? `Something else already listens on ${host}:${port}. Stop it, or choose another port (--port, or channels.realtime.server.port).`
          : `Cannot listen on ${host}:${port} (${cause.code ?? 'unknown error'}): check channels.realtime.server.host and .port.`;
        reject(new VoiceError(inUse ? 'ADDRESS_IN_USE' : 'CONFIG_INVALID', text, { cause }));
      };
      server.once('error', onError);
      server.listen({ host, port }, () => {
        server.off('error', onError);
        server.on('error', (err) => this.#options.logger.error({ err }, 'the port failed'));
        const { address, family, port: bound } = server.address() as AddressInfo;
        const name = family === 'IPv6' ? `[${address}]` : address;
        this.#address = { host: address, port: bound, url: `http://${name}:${bound}` };
        resolve();
      });
    });
  }

  /** @throws VoiceError what stops it from starting */
  #begin(slot: number, isFirst: boolean): Promise<void> {
    const { program, env, clock, workers, setup } = this.#options;
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
        onMessage: (message, from) => void this.#onMessage(message, from),
        onExit: (from) => void this.#onExit(from),
      });
      this.#workers.set(slot, worker);
      worker.send({ kind: 'begin', slot, of: workers, isFirst, address: this.#address, setup });
    });
  }

  async #onMessage(message: ToPrimary, worker: WorkerHandle): Promise<void> {
    switch (message.kind) {
      case 'ready':
        worker.isReady = true;
        worker.facts = message.facts;
        // Its own start has written off what the one before it had.
        this.#unburied.delete(worker.slot);
        this.#starting.get(worker.slot)?.(null);
        this.#releaseHeld();
        break;
      case 'failed':
        this.#starting.get(worker.slot)?.(startError(message.code, message.message));
        break;
      case 'take_line':
        worker.send({ kind: 'answers', id: message.id, answers: [this.#places.take(worker.slot)] });
        break;
      case 'release_line':
        this.#places.release(worker.slot);
        break;
      case 'ask': {
        const answers =
          message.to === 'others'
            ? await this.askAll(message.question, worker.slot)
            : [await this.#freest()?.ask(message.question)].filter((each) => each !== undefined);
        worker.send({ kind: 'answers', id: message.id, answers });
        break;
      }
      // The handle's own.
      case 'answer':
      case 'taken':
        break;
      default:
        message satisfies never;
    }
  }

  async #onExit(worker: WorkerHandle): Promise<void> {
    const { slot } = worker;
    const { clock, logger } = this.#options;
    if (this.#workers.get(slot) === worker) this.#workers.delete(slot);
    const lost = this.#places.lines(slot);
    this.#places.free(slot);
    this.#starting.get(slot)?.(new VoiceError('WORKER_FAILED', 'A worker ended before it was ready.'));
    if (this.#stopping.signal.aborted || !this.#hasStarted) return;
    logger.error({ worker: slot, calls: lost }, 'a worker died; its calls are lost, and it is replaced');
    this.#unburied.add(slot);
    await this.#bury(slot, clock.wallNow());
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

  /** Another worker writes down that the calls are over, so that their callers can go on there at once. */
  async #bury(slot: number, diedAt: number): Promise<void> {
    for (const worker of this.#ready()) {
      if ((await worker.ask<'bury'>({ kind: 'bury', slot, diedAt })) === undefined) continue;
      this.#unburied.delete(slot);
      this.#releaseHeld();
      return;
    }
  }

  #place(held: Held): void {
    const { head, socket } = held;
    const { callSid, slot: named, isNewCall } = destinationOf(head, this.#options.prefix);
    const slot = (callSid === null ? null : this.#places.of(callSid)) ?? named;
    if (slot !== null && this.#unburied.has(slot)) {
      this.#hold(held);
      return;
    }
    const worker = (slot === null ? null : this.#ready(slot)) ?? (isNewCall ? this.#freest() : this.#next());
    if (!worker || worker.untaken >= MAX_UNTAKEN_CONNECTIONS) {
      if (this.#stopping.signal.aborted) refuse(socket, '503 Service Unavailable');
      else this.#hold(held);
      return;
    }
    if (callSid !== null && (isNewCall || named !== null)) this.#places.put(callSid, worker.slot);
    if (isNewCall) this.#places.expect(worker.slot);
    this.#handed += 1;
    worker.hand(socket, held.bytes, () => this.#place(held));
  }

  #hold(held: Held): void {
    if (this.#held.length >= MAX_HELD_CONNECTIONS || held.until <= this.#options.clock.now()) {
      refuse(held.socket, '503 Service Unavailable');
      return;
    }
    this.#held.push(held);
    this.#holdTimer ??= this.#options.clock.setTimeout(() => {
      this.#holdTimer = null;
      this.#releaseHeld();
    }, 1000);
  }

  /** Each finds its worker, or waits on. */
  #releaseHeld(): void {
    for (const held of this.#held.splice(0)) if (!held.socket.destroyed) this.#place(held);
  }

  #ready(): WorkerHandle[];
  #ready(slot: number): WorkerHandle | null;
  #ready(slot?: number): WorkerHandle[] | WorkerHandle | null {
    if (slot === undefined) return [...this.#workers.values()].filter(({ isReady }) => isReady);
    const worker = this.#workers.get(slot);
    return worker?.isReady ? worker : null;
  }

  #next(): WorkerHandle | null {
    const ready = this.#ready();
    return ready[this.#turn++ % ready.length] ?? null;
  }

  #freest(): WorkerHandle | null {
    const slot = this.#places.freest(this.#ready().map((each) => each.slot));
    return slot === null ? null : this.#ready(slot);
  }

  #armSettle(): void {
    this.#settleTimer = this.#options.clock.setTimeout(() => {
      this.#places.settle();
      if (!this.#stopping.signal.aborted) this.#armSettle();
    }, SETTLE_MS);
  }
}

function startError(code: ErrorCode | null, message: string): VoiceError {
  return new VoiceError(code ?? 'WORKER_FAILED', message);
}
