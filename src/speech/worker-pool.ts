/**
 * A few worker threads that do one job each at a time, with a bounded queue in front. A worker that dies is
 * started again a bounded number of times; the job it died on fails, the others go on.
 *
 * @module
 */

import { type Transferable, Worker } from 'node:worker_threads';
import { type Clock, type ClockTimer, realClock } from '../clock.ts';
import { VoiceError } from '../errors.ts';

/** Jobs that may wait; one more is refused. */
export const MAX_QUEUED_JOBS = 64;

/** Deaths in a row, without a job done in between, after which a pool gives up. */
export const MAX_WORKER_DEATHS = 3;

/** A job that takes longer has hung; its worker is ended. */
export const JOB_DEADLINE_MS = 20_000;

/** What the pool sends to a worker. */
export interface JobMessage<Request> {
  readonly id: number;
  readonly request: Request;
}

/** What a worker answers. `code` tells an error of the request's from one of the machine's. */
export type JobAnswer<Response> =
  | { readonly id: number; readonly response: Response }
  | { readonly id: number; readonly error: string; readonly code: 'SPEECH_FAILED' | 'PHRASE_INVALID' };

interface Job<Request, Response> {
  readonly id: number;
  readonly request: Request;
  readonly transfer: readonly Transferable[];
  readonly resolve: (response: Response) => void;
  readonly reject: (error: unknown) => void;
}

interface Slot<Request, Response> {
  worker: Worker | null;
  job: Job<Request, Response> | null;
  deadline: ClockTimer | null;
}

export interface WorkerPoolOptions {
  /** What the pool is for, for error messages. */
  readonly name: string;
  readonly url: URL;
  readonly workerData: unknown;
  readonly size: number;
  readonly clock?: Clock;
  readonly deadlineMs?: number;
}

export class WorkerPool<Request, Response> {
  readonly #options: WorkerPoolOptions;
  readonly #clock: Clock;
  readonly #slots: Slot<Request, Response>[];
  readonly #queue: Job<Request, Response>[] = [];
  #nextId = 1;
  #deaths = 0;
  #closed = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    this.#clock = options.clock ?? realClock;
    this.#slots = Array.from({ length: options.size }, () => ({ worker: null, job: null, deadline: null }));
  }

  /**
   * Runs one job. An abort while it waits takes it out of the queue; once it runs, it runs to its end and its
   * result is dropped.
   *
   * @throws VoiceError `SPEECH_FAILED`, or the code that the worker answered with
   */
  run(
    request: Request,
    options?: { signal?: AbortSignal | undefined; transfer?: readonly Transferable[] },
  ): Promise<Response> {
    const { name } = this.#options;
    if (this.#closed) return Promise.reject(new VoiceError('SPEECH_FAILED', `The ${name} is closed.`));
    if (this.#deaths >= MAX_WORKER_DEATHS) {
      return Promise.reject(new VoiceError('SPEECH_FAILED', `The ${name} died too often and is off.`));
    }
    if (options?.signal?.aborted) return Promise.reject(options.signal.reason);
    if (this.#queue.length >= MAX_QUEUED_JOBS) {
      return Promise.reject(new VoiceError('SPEECH_FAILED', `Too many jobs wait for the ${name}.`));
    }
    const { signal, transfer = [] } = options ?? {};
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        const at = this.#queue.indexOf(job);
        if (at >= 0) this.#queue.splice(at, 1);
        reject(signal?.reason);
      };
      const job: Job<Request, Response> = {
        id: this.#nextId++,
        request,
        transfer,
        resolve: (response) => {
          signal?.removeEventListener('abort', onAbort);
          resolve(response);
        },
        reject: (error) => {
          signal?.removeEventListener('abort', onAbort);
          reject(error);
        },
      };
      signal?.addEventListener('abort', onAbort, { once: true });
      this.#queue.push(job);
      this.#dispatch();
    });
  }

  /** Fails what waits and ends the workers. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    const error = new VoiceError('SPEECH_FAILED', `The ${this.#options.name} is closed.`);
    for (const job of this.#queue.splice(0)) job.reject(error);
    await Promise.all(
      this.#slots.map(async (slot) => {
        this.#settle(slot)?.reject(error);
        const { worker } = slot;
        slot.worker = null;
        await worker?.terminate();
      }),
    );
  }

  #dispatch(): void {
    for (const slot of this.#slots) {
      if (slot.job) continue;
      const job = this.#queue.shift();
      if (!job) return;
      slot.worker ??= this.#start(slot);
      slot.job = job;
      slot.worker.ref();
      slot.deadline = this.#clock.setTimeout(() => {
        // Its exit handler fails the job.
        void slot.worker?.terminate();
      }, this.#options.deadlineMs ?? JOB_DEADLINE_MS);
      const message: JobMessage<Request> = { id: job.id, request: job.request };
      slot.worker.postMessage(message, job.transfer);
    }
  }

  #start(slot: Slot<Request, Response>): Worker {
    const worker = new Worker(this.#options.url, {
      workerData: this.#options.workerData,
      execArgv: ['--no-warnings'],
      // The engines print their complaints; phrases would be among them.
      stdout: true,
      stderr: true,
    });
    worker.stdout.resume();
    worker.stderr.resume();
    let cause: unknown;
    worker.on('message', (answer: JobAnswer<Response>) => this.#answered(slot, answer));
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => this.#died(slot, worker, cause));
    worker.unref();
    return worker;
  }

  #answered(slot: Slot<Request, Response>, answer: JobAnswer<Response>): void {
    if (slot.job?.id !== answer.id) return;
    this.#deaths = 0;
    const job = this.#settle(slot);
    slot.worker?.unref();
    if ('response' in answer) job?.resolve(answer.response);
    else job?.reject(new VoiceError(answer.code, answer.error));
    this.#dispatch();
  }

  #died(slot: Slot<Request, Response>, worker: Worker, cause: unknown): void {
    if (slot.worker !== worker) return;
    slot.worker = null;
    this.#deaths++;
    const { name } = this.#options;
    this.#settle(slot)?.reject(new VoiceError('SPEECH_FAILED', `The ${name} died at its work.`, { cause }));
    if (this.#deaths < MAX_WORKER_DEATHS) {
      this.#dispatch();
      return;
    }
    const error = new VoiceError('SPEECH_FAILED', `The ${name} died too often and is off.`, { cause });
    for (const job of this.#queue.splice(0)) job.reject(error);
  }

  #settle(slot: Slot<Request, Response>): Job<Request, Response> | null {
    const { job } = slot;
    slot.job = null;
    slot.deadline?.clear();
    slot.deadline = null;
    return job;
  }
}
