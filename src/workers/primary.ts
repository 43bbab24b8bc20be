/**
 * The process that listens: starts the workers, deals connections out to them, replaces those that die, and has the bound
 * of all calls. It carries no call and opens no store.
 *
 * @module
 */

import type { AddressInfo, Socket } from 'node:net';
import type { Clock, ClockTimer } from '../clock.ts';
import { VoiceError } from '../errors.ts';
import type { Logger } from '../observe/index.ts';
import type { QuestionOf, SlotAnswers, SlotKind } from '../worker-slot.ts';
import { CallPlaces } from './call-places.ts';
import { Crew, type CrewMessage } from './crew.ts';
import { destinationOf } from './destination.ts';
import { FrontDoor } from './front-door.ts';
import { HeldConnections } from './held-connections.ts';
import { turnAway } from './refusals.ts';
import type { RequestHead } from './request-head.ts';
import { TlsPort } from './tls-port.ts';
import { MAX_UNTAKEN_CONNECTIONS, type WorkerHandle } from './worker-handle.ts';

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
  /** The certificate and its key, where the port speaks TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | null;
  readonly maxCalls: number;
  /** Path of `server.publicUrl`, without a trailing slash. */
  readonly prefix: string;
  readonly drainTimeoutMs: number;
  /** What workers compose themselves from. */
  readonly setup: unknown;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly logLevel: string;
}

interface Connection {
  readonly socket: Socket;
  readonly head: RequestHead;
  readonly bytes: Buffer;
  /** Whose it is, where the socket does not say so. */
  readonly from: string | null;
  readonly since: number;
}

export class Primary {
  readonly #options: PrimaryOptions;
  readonly #door: FrontDoor;
  readonly #tls: TlsPort | null;
  readonly #places: CallPlaces;
  readonly #crew: Crew;
  readonly #held: HeldConnections<Connection>;
  /** Slots whose worker died and whose calls are not written off yet. */
  readonly #unburied = new Set<number>();
  #settleTimer: ClockTimer | null = null;
  #address = { host: '', port: 0, url: '' };
  #handed = 0;

  constructor(options: PrimaryOptions) {
    const { clock, logger, program, env, workers, setup, tls, maxCalls, logLevel } = options;
    this.#options = options;
    this.#places = new CallPlaces(maxCalls);
    this.#held = new HeldConnections<Connection>(
      clock,
      (connection) => this.#place(connection),
      ({ socket, head }) => turnAway(socket, head, options.prefix),
    );
    const place = (socket: Socket, head: RequestHead, bytes: Buffer, from: string | null) =>
      this.#place({ socket, head, bytes, from, since: clock.now() });
    this.#tls = tls && new TlsPort({ ...tls, workers, maxCalls, logLevel, env, clock, logger, place });
    this.#door = this.#tls?.inner ?? new FrontDoor({ clock, place });
    this.#crew = new Crew({
      size: workers,
      program,
      env,
      clock,
      logger,
      begin: (slot, isFirst) => ({
        kind: 'begin',
        slot,
        of: workers,
        isFirst,
        address: this.#address,
        setup,
      }),
      onMessage: (message, worker) => void this.#onMessage(message, worker),
      onReady: ({ slot }) => {
        // Its own start has written off what the one before it had.
        this.#unburied.delete(slot);
        this.#held.release();
      },
      onDeath: ({ slot }) => this.#onDeath(slot, clock.wallNow()),
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
      ready: this.#crew.ready.length,
      restarts: this.#crew.restarts,
      handed: this.#handed,
      peeking: this.#door.size,
    };
  }

  /**
   * Listens, and resolves with what the first worker says of itself once all are ready. The first starts alone: it brings
   * the store up to date, and makes what is made once.
   *
   * @throws VoiceError `ADDRESS_IN_USE`, `CONFIG_INVALID` for a certificate that can't be used, and what stops a worker
   *   from starting
   */
  async start(): Promise<unknown> {
    await this.#listen();
    await this.#tls?.start();
    const facts = await this.#crew.start();
    this.#armSettle();
    return facts;
  }

  /** What every worker that can says. */
  async askAll<K extends SlotKind>(question: QuestionOf<K>, except?: number): Promise<SlotAnswers[K][]> {
    const asked = this.#crew.ready.filter(({ slot }) => slot !== except);
    const answers = await Promise.all(asked.map((worker) => worker.ask(question)));
    return answers.filter((each) => each !== undefined);
  }

  /** No new calls; resolves when every worker has ended, which each does with its last call or when its time is over. */
  async stop(): Promise<void> {
    await this.#crew.stop(this.#options.drainTimeoutMs + DRAIN_MARGIN_MS);
    await this.#tls?.stop();
    this.#close();
  }

  /** Ends every worker at once. */
  kill(): void {
    this.#crew.kill();
    this.#tls?.kill();
    this.#close();
  }

  #close(): void {
    this.#settleTimer?.clear();
    this.#held.close();
    this.#door.close();
  }

  #listen(): Promise<void> {
    const { host, port } = this.#options;
    const { server } = this.#tls ?? this.#door;
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
        const scheme = this.#tls ? 'https' : 'http';
        this.#address = { host: address, port: bound, url: `${scheme}://${name}:${bound}` };
        resolve();
      });
    });
  }

  async #onMessage(message: CrewMessage, worker: WorkerHandle): Promise<void> {
    switch (message.kind) {
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

  async #onDeath(slot: number, diedAt: number): Promise<void> {
    const calls = this.#places.lines(slot);
    this.#places.free(slot);
    // Until somebody has written its calls off, no caller of theirs is sent on to another worker.
    this.#unburied.add(slot);
    this.#options.logger.error(
      { worker: slot, calls },
      'a worker died; its calls are lost, and it is replaced',
    );
    for (const worker of this.#crew.ready) {
      if ((await worker.ask<'bury'>({ kind: 'bury', slot, diedAt })) === undefined) continue;
      this.#unburied.delete(slot);
      this.#held.release();
      return;
    }
  }

  #place(connection: Connection): void {
    const { head, socket, bytes, from } = connection;
    const { callSid, slot: named, isNewCall } = destinationOf(head, this.#options.prefix);
    const slot = (callSid === null ? null : this.#places.of(callSid)) ?? named;
    if (slot !== null && this.#unburied.has(slot)) {
      this.#held.add(connection);
      return;
    }
    const serving = this.#serving();
    const worker =
      serving.find((each) => each.slot === slot) ?? (isNewCall ? this.#freest() : this.#crew.next(serving));
    if (!worker || worker.untaken >= MAX_UNTAKEN_CONNECTIONS) {
      if (this.#crew.isStopping) turnAway(socket, head, this.#options.prefix);
      else this.#held.add(connection);
      return;
    }
    if (callSid !== null && (isNewCall || named !== null)) this.#places.put(callSid, worker.slot);
    if (isNewCall) this.#places.expect(worker.slot);
    this.#handed += 1;
    worker.hand(socket, bytes, from, () => this.#place(connection));
  }

  /** Those that answer. At the end one without calls is about to leave, and would take what it is given with it. */
  #serving(): readonly WorkerHandle[] {
    const { ready, isStopping } = this.#crew;
    return isStopping ? ready.filter(({ slot }) => this.#places.lines(slot) > 0) : ready;
  }

  #freest(): WorkerHandle | null {
    const serving = this.#serving();
    const slot = this.#places.freest(serving.map((each) => each.slot));
    return serving.find((each) => each.slot === slot) ?? null;
  }

  #armSettle(): void {
    this.#settleTimer = this.#options.clock.setTimeout(() => {
      this.#places.settle();
      if (!this.#crew.isStopping) this.#armSettle();
    }, SETTLE_MS);
  }
}
