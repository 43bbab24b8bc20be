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
  readonly #sockets = new Set<Socket>();
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
      if (message.kind === 'answer') this.#questions.get(message.id)?.(message.value);
      else onMessage(message, this);
    });
    // A channel that breaks is followed by the exit.
    this.#child.on('error', () => {});
    this.exited = new Promise((resolve) => {
      this.#child.once('exit', () => {
        this.isReady = false;
        for (const socket of this.#sockets) socket.destroy();
        this.#sockets.clear();
        for (const settle of [...this.#questions.values()]) settle(undefined);
        onExit(this);
        resolve();
      });
    });
  }

  get pid(): number | null {
    return this.#child.pid ?? null;
  }

  send(message: ToWorker): void {
    if (this.#child.connected) this.#child.send(message, () => {});
  }

  /** The connection is the worker's from here on. */
  hand(socket: Socket, bytes: Buffer): void {
    if (!this.#child.connected) {
      socket.destroy();
      return;
    }
    this.#sockets.add(socket);
    const message: ToWorker = { kind: 'connection', bytes: bytes.toString('latin1') };
    this.#child.send(message, socket, {}, (error) => {
      this.#sockets.delete(socket);
      if (error) socket.destroy();
    });
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
