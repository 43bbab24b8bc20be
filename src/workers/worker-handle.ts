/**
 * One worker as the process that listens has it: its channel, what it was asked, and connections on their way to it.
 *
 * @module
 */

import { type ChildProcess, fork } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import type { QuestionOf, SlotAnswers, SlotKind } from '../worker-slot.ts';
import { ASK_TIMEOUT_MS, type ToPrimary, type ToWorker } from './messages.ts';

/** Questions that a worker may owe an answer to; one more is not asked. */
export const MAX_OPEN_QUESTIONS = 1000;

/** Connections on their way to one worker at once; one that stands still gets no more. */
export const MAX_UNTAKEN_CONNECTIONS = 1024;

export interface WorkerHandleOptions {
  readonly slot: number;
  readonly program: URL;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  readonly onMessage: (message: ToPrimary, worker: WorkerHandle) => void;
  readonly onExit: (worker: WorkerHandle) => void;
}

export class WorkerHandle {
  readonly slot: number;
  isReady = false;
  /** What it said when it was ready. */
  facts: unknown = null;
  readonly startedAt: number;
  readonly exited: Promise<void>;
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  readonly #questions = new Map<number, (value: unknown) => void>();
  /** Connections that the worker has not taken yet. */
  readonly #untaken = new Map<number, { readonly socket: Socket; readonly lost: () => void }>();
  #hasExited = false;
  #nextId = 1;

  constructor({ slot, program, env, clock, onMessage, onExit }: WorkerHandleOptions) {
    this.slot = slot;
    this.#clock = clock;
    this.startedAt = clock.now();
    this.#child = fork(program, {
      env,
      execArgv: [...process.execArgv],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    });
    this.#child.on('message', (message: ToPrimary) => {
      if (message.kind === 'taken') this.#taken(message.id);
      else if (message.kind === 'answer') this.#questions.get(message.id)?.(message.value);
      else onMessage(message, this);
    });
    // A channel that breaks is followed by the exit.
    this.#child.on('error', () => {});
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', () => {
        this.isReady = false;
        this.#hasExited = true;
        for (const settle of [...this.#questions.values()]) settle(undefined);
        onExit(this);
        this.#lose();
        resolve();
      });
    });
  }

  /** Connections on their way to it. */
  get untaken(): number {
    return this.#untaken.size;
  }

  send(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  /**
   * Gives the worker a connection. Ours stays open until the worker says that it has it: what is on its way to a process
   * that dies would be lost.
   *
   * @param from - whose it is, where the socket itself does not say so
   * @param lost - called when it never got there; the connection is as it was
   */
  hand(socket: Socket, bytes: Buffer, from: string | null, lost: () => void): void {
    const id = this.#nextId++;
    this.#untaken.set(id, { socket, lost });
    const message: ToWorker = { kind: 'connection', id, bytes: bytes.toString('latin1'), from };
    // What can't be sent any more is found when the process is gone, which is about to be seen.
    if (this.#child.connected) this.#child.send(message, socket, { keepOpen: true }, () => {});
    else if (this.#hasExited) this.#lose();
  }

  #taken(id: number): void {
    this.#untaken.get(id)?.socket.destroy();
    this.#untaken.delete(id);
  }

  #lose(): void {
    const lost = [...this.#untaken.values()];
    this.#untaken.clear();
    for (const each of lost) if (!each.socket.destroyed) each.lost();
  }

  /** `undefined` when it does not answer in time, or can't. */
  ask<K extends SlotKind>(question: QuestionOf<K>): Promise<SlotAnswers[K] | undefined> {
    if (!this.#child.connected || this.#questions.size >= MAX_OPEN_QUESTIONS)
      return Promise.resolve(undefined);
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const settle = (value: unknown) => {
        timer.clear();
        this.#questions.delete(id);
        // The worker answers a question with what its kind gives.
        resolve(value as SlotAnswers[K] | undefined);
      };
      const timer = this.#clock.setTimeout(() => settle(undefined), ASK_TIMEOUT_MS);
      this.#questions.set(id, settle);
      this.send({ kind: 'question', id, question });
    });
  }

  kill(): void {
    this.#child.kill('SIGKILL');
  }
}
