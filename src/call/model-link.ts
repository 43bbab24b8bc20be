/**
 * The call's hold on its model: one live session at a time, replaced when it drops or nears its limit. Every event
 * passes through here with a generation, so that nothing of a replaced session is ever heard.
 *
 * @module
 */

import type { Clock, ClockTimer } from '../clock.ts';
import { isVoiceError } from '../errors.ts';
import type {
  ModelSessionConfig,
  RealtimeModel,
  RealtimeModelEvents,
  RealtimeModelFactory,
} from '../model/index.ts';

/** Waits before each attempt after a drop. When they are used up by quick failures, the model is gone for good. */
export const RECONNECT_DELAYS_MS: readonly number[] = [500, 1000, 2000];
/** A session that lived this long starts the ladder anew. */
export const STABLE_SESSION_MS = 30_000;
/** A session is replaced this long before its limit, at the next quiet moment. */
export const ROLLOVER_MARGIN_MS = 300_000;
/** When no quiet moment comes, it is replaced anyway this long before its limit. */
export const ROLLOVER_FORCE_MS = 30_000;

const FORWARDED = [
  'speechStarted',
  'speechStopped',
  'inputCommitted',
  'inputTranscript',
  'responseStarted',
  'outputAudio',
  'outputAudioDone',
  'outputTranscript',
  'toolCall',
  'toolCallCancelled',
  'responseDone',
  'interrupted',
  'error',
] as const satisfies readonly (keyof RealtimeModelEvents)[];

type Forwarded = (typeof FORWARDED)[number];

export type ModelLinkHandlers = {
  readonly [K in Forwarded]: (...args: RealtimeModelEvents[K]) => void;
} & {
  /** A session is ready. `generation` 1 is the call's first; later ones replace a lost or old session. */
  readonly ready: (session: RealtimeModelEvents['ready'][0], generation: number) => void;
  /** The session is given up for a new one, at a moment of our choosing. */
  readonly replaced: () => void;
  /** The session dropped and a new one is being opened. */
  readonly dropped: () => void;
  /** No session any more, and none to be had. */
  readonly failed: (code: string) => void;
};

export interface ModelLinkOptions {
  readonly factory: RealtimeModelFactory;
  readonly clock: Clock;
  /** The session's configuration, asked for at each connect: instructions, tools and heard history as of then. */
  readonly session: (generation: number) => ModelSessionConfig;
  readonly handlers: ModelLinkHandlers;
}

export class ModelLink {
  readonly #options: ModelLinkOptions;
  #model: RealtimeModel | null = null;
  #generation = 0;
  #ready = false;
  #readyAt = 0;
  #expiresAt: number | null = null;
  #failures = 0;
  #fatal: string | null = null;
  #retry: ClockTimer | null = null;
  #closed = false;

  constructor(options: ModelLinkOptions) {
    this.#options = options;
  }

  /** The live session, `null` while there is none. */
  get model(): RealtimeModel | null {
    return this.#ready ? this.#model : null;
  }

  get generation(): number {
    return this.#generation;
  }

  /**
   * Opens the first session.
   *
   * @throws VoiceError as `RealtimeModel.connect`; the first failure is the caller's to handle, not retried
   */
  async connect(): Promise<void> {
    await this.#open();
  }

  /** @param quiet - nobody speaks and nothing is pending: a good moment to replace an old session */
  tick(now: number, quiet: boolean): void {
    if (!this.#ready || this.#expiresAt === null) return;
    const left = this.#expiresAt - now;
    if (left > ROLLOVER_MARGIN_MS || (!quiet && left > ROLLOVER_FORCE_MS)) return;
    this.#expiresAt = null;
    this.#drop();
    this.#options.handlers.replaced();
    this.#reopen(0);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#retry?.clear();
    this.#drop();
  }

  #drop(): void {
    const model = this.#model;
    this.#model = null;
    this.#ready = false;
    model?.removeAllListeners();
    model?.close();
  }

  async #open(): Promise<void> {
    const generation = ++this.#generation;
    const model = this.#options.factory.create();
    const { handlers, clock } = this.#options;
    this.#model = model;
    const isCurrent = () => !this.#closed && this.#model === model;
    for (const name of FORWARDED) {
      // None of them has more than one argument.
      const handler = handlers[name] as (event?: unknown) => void;
      model.on(name, (event?: unknown) => {
        if (!isCurrent()) return;
        if (name === 'error') this.#noteError(event as RealtimeModelEvents['error'][0]);
        handler(event);
      });
    }
    model.on('ready', (session) => {
      if (!isCurrent()) return;
      this.#ready = true;
      this.#readyAt = clock.now();
      const limit = model.capabilities.maxSessionMs;
      this.#expiresAt = limit === null ? null : clock.now() + limit;
      handlers.ready(session, generation);
    });
    model.on('expiring', ({ inMs }) => {
      if (isCurrent())
        this.#expiresAt = Math.min(this.#expiresAt ?? Number.POSITIVE_INFINITY, clock.now() + inMs);
    });
    model.on('closed', () => {
      if (isCurrent() && this.#ready) this.#lost();
    });
    try {
      await model.connect(this.#options.session(generation));
    } catch (error) {
      if (this.#model === model) this.#drop();
      throw error;
    }
    // The call may have ended, or another session been opened, while this one was connecting.
    if (this.#closed) model.close();
  }

  #noteError(error: RealtimeModelEvents['error'][0]): void {
    if (error.severity === 'fatal') this.#fatal = error.code;
  }

  #lost(): void {
    const lived = this.#options.clock.now() - this.#readyAt;
    if (lived >= STABLE_SESSION_MS) this.#failures = 0;
    this.#drop();
    this.#reopen(RECONNECT_DELAYS_MS[this.#failures++]);
  }

  #reopen(delayMs: number | undefined): void {
    const { handlers, clock } = this.#options;
    if (this.#fatal !== null || delayMs === undefined) {
      handlers.failed(this.#fatal ?? 'model_session_lost');
      return;
    }
    if (delayMs > 0) handlers.dropped();
    this.#retry?.clear();
    this.#retry = clock.setTimeout(() => {
      this.#retry = null;
      this.#open().catch((error: unknown) => {
        if (this.#closed) return;
        if (isVoiceError(error, 'MODEL_AUTH_FAILED')) this.#fatal = 'model_auth_failed';
        this.#reopen(RECONNECT_DELAYS_MS[this.#failures++]);
      });
    }, delayMs);
  }
}
