/**
 * A worker's side: connections that come over the channel, questions of the others, and lines for calls.
 *
 * @module
 */

import { Socket } from 'node:net';
import type { Clock } from '../clock.ts';
import { tagOfSlot, type WorkerSlot } from '../worker-slot.ts';
import { ASK_TIMEOUT_MS, type ToPrimary, type ToWorker } from './messages.ts';

/** Questions of this worker that may be open; one more is answered with nothing. */
export const MAX_OPEN_ASKS = 1000;

export interface Begun {
  readonly slot: WorkerSlot;
  readonly isFirst: boolean;
  readonly setup: unknown;
  /** Resolves when this worker is to end. */
  readonly drained: Promise<void>;
  send(message: ToPrimary): void;
}

/** Resolves once the process that started us has said who we are. Ends this process when that one is gone. */
export function beginWorker(clock: Clock): Promise<Begun> {
  // Nobody is left to deal connections out, and nobody would ever end us.
  process.on('disconnect', () => process.exit(1));
  // A terminal sends its signals to us too; when to end, we are told.
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
  const send = (message: ToPrimary) => {
    if (process.connected) process.send?.(message);
  };
  return new Promise((resolve) => {
    const { promise: drained, resolve: drain } = Promise.withResolvers<void>();
    let side: Side | null = null;
    process.on('message', (message: ToWorker, handle: unknown) => {
      if (message.kind === 'begin') {
        side = new Side(message, clock, send);
        resolve({ slot: side, isFirst: message.isFirst, setup: message.setup, drained, send });
      } else if (message.kind === 'drain') drain();
      else side?.onMessage(message, handle);
    });
  });
}

/** Put there for one kind of question, and asked that kind only. */
type Answer = (question: never) => unknown;

class Side implements WorkerSlot {
  readonly index: number;
  readonly tag: string;
  readonly of: number;
  readonly address: WorkerSlot['address'];
  readonly lines = {
    take: async () => (await this.#request((id) => ({ kind: 'take_line', id })))[0] === true,
    release: () => this.#send({ kind: 'release_line' }),
  };
  readonly #clock: Clock;
  readonly #send: (message: ToPrimary) => void;
  readonly #answers = new Map<string, Answer>();
  readonly #open = new Map<number, (answers: readonly unknown[]) => void>();
  #take: ((socket: Socket) => void) | null = null;
  #nextId = 1;

  constructor(begin: Extract<ToWorker, { kind: 'begin' }>, clock: Clock, send: (message: ToPrimary) => void) {
    this.index = begin.slot;
    this.tag = tagOfSlot(begin.slot);
    this.of = begin.of;
    this.address = begin.address;
    this.#clock = clock;
    this.#send = send;
  }

  onConnection(take: (socket: Socket) => void): void {
    this.#take = take;
  }

  async askOthers(question: Parameters<WorkerSlot['askOthers']>[0]): Promise<never[]> {
    // The others answer a question with what its kind gives.
    return (await this.#request((id) => ({ kind: 'ask', id, to: 'others', question }))) as never[];
  }

  async askFreest(question: Parameters<WorkerSlot['askFreest']>[0]): Promise<never> {
    const [answer = null] = await this.#request((id) => ({ kind: 'ask', id, to: 'freest', question }));
    return answer as never;
  }

  answers: WorkerSlot['answers'] = (kind, answer) => {
    this.#answers.set(kind, answer);
  };

  onMessage(message: Exclude<ToWorker, { kind: 'begin' | 'drain' }>, handle: unknown): void {
    switch (message.kind) {
      case 'connection':
        this.#send({ kind: 'taken', id: message.id });
        if (handle instanceof Socket) this.#connect(handle, message);
        break;
      case 'question':
        void this.#answer(message);
        break;
      case 'answers':
        this.#open.get(message.id)?.(message.answers);
        break;
      default:
        message satisfies never;
    }
  }

  #connect(socket: Socket, { bytes, from }: Extract<ToWorker, { kind: 'connection' }>): void {
    if (!this.#take) {
      socket.destroy();
      return;
    }
    // As an HTTP server's own connections are.
    socket.allowHalfOpen = true;
    socket.setNoDelay(true);
    if (bytes !== '') socket.unshift(Buffer.from(bytes, 'latin1'));
    // What limits and the audit go by is who is at the other end of what was encrypted.
    if (from !== null) Object.defineProperty(socket, 'remoteAddress', { value: from });
    this.#take(socket);
  }

  async #answer({ id, question }: Extract<ToWorker, { kind: 'question' }>): Promise<void> {
    try {
      const answer = this.#answers.get(question.kind);
      this.#send({ kind: 'answer', id, value: await answer?.(question as never) });
    } catch {
      this.#send({ kind: 'answer', id, value: undefined });
    }
  }

  #request(message: (id: number) => ToPrimary): Promise<readonly unknown[]> {
    if (this.#open.size >= MAX_OPEN_ASKS) return Promise.resolve([]);
    const id = this.#nextId++;
    return new Promise((resolve) => {
      const settle = (answers: readonly unknown[]) => {
        timer.clear();
        this.#open.delete(id);
        resolve(answers);
      };
      // The one who relays waits for the others as long.
      const timer = this.#clock.setTimeout(() => settle([]), 2 * ASK_TIMEOUT_MS);
      this.#open.set(id, settle);
      this.#send(message(id));
    });
  }
}
