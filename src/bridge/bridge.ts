/**
 * The voice channel as another agent's child: started by `initialize`, served over the bridge, stopped by `shutdown`, by
 * the end of its input, or by a signal.
 *
 * @module
 */

import { isVoiceError, VoiceError } from '../errors.ts';
import {
  configChangedSchema,
  decideSchema,
  deltaSchema,
  gateCheckSchema,
  initializeSchema,
  nothing,
  outboundSchema,
  PROTOCOL_VERSION,
  progressSchema,
  RPC,
  RpcError,
  type RpcPeer,
  shutdownSchema,
} from '../gateway/remote/index.ts';
import { type Composition, compose } from './compose.ts';
import { DeltaStreams } from './delta-streams.ts';
import type { BridgeParts } from './parts.ts';

/** How long the end may wait for requests that are not answered yet. */
export const LAST_ANSWERS_MS = 1000;

export interface BridgeOptions {
  readonly peer: RpcPeer;
  readonly parts: BridgeParts;
}

type State =
  | { readonly at: 'waiting' }
  | { readonly at: 'starting'; readonly composing: Promise<Composition> }
  | { readonly at: 'running'; readonly composition: Composition }
  | { readonly at: 'stopping' }
  | { readonly at: 'stopped' };

export class Bridge {
  /** Resolves when everything is closed, whatever made it end; to whether it had started or was told to stop. */
  readonly done: Promise<{ readonly failed: boolean }>;
  readonly #peer: RpcPeer;
  readonly #parts: BridgeParts;
  readonly #streams = new DeltaStreams();
  readonly #onDone: (how: { failed: boolean }) => void;
  #state: State = { at: 'waiting' };
  #stopping: Promise<void> | null = null;

  constructor({ peer, parts }: BridgeOptions) {
    const { promise, resolve } = Promise.withResolvers<{ readonly failed: boolean }>();
    this.#peer = peer;
    this.#parts = parts;
    this.done = promise;
    this.#onDone = resolve;
    this.#serve();
    peer.listen();
    void peer.closed.then(() => this.stop(0));
  }

  get activeCalls(): number {
    return this.#state.at === 'running' ? this.#state.composition.activeCalls() : 0;
  }

  /**
   * No new calls, the running ones may end, everything is closed. Called again meanwhile, the calls end at once.
   *
   * @param drainMs - how long calls may go on; as the config says when left out
   */
  stop(drainMs?: number): Promise<void> {
    if (this.#stopping) {
      if (this.#state.at === 'running') this.#state.composition.hangUpAll();
      return this.#stopping;
    }
    this.#stopping = this.#stop(drainMs);
    return this.#stopping;
  }

  #serve(): void {
    const peer = this.#peer;
    peer.on('ping', nothing, () => ({}));
    peer.on('initialize', initializeSchema, async (init) => {
      if (init.protocol !== PROTOCOL_VERSION) {
        throw new RpcError(
          `This channel speaks version ${PROTOCOL_VERSION} of the bridge, not ${init.protocol}.`,
          RPC.protocolVersion,
          { supported: [PROTOCOL_VERSION] },
        );
      }
      if (this.#state.at !== 'waiting') throw wrongState();
      const composing = compose(init, peer, this.#parts);
      this.#state = { at: 'starting', composing };
      this.#status('starting');
      try {
        const composition = await composing;
        // Told to stop meanwhile: whoever stops it closes it.
        if (this.#stopping) throw wrongState();
        this.#state = { at: 'running', composition };
        this.#status('ready');
        return composition.facts;
      } catch (error) {
        // The answer has to be on its way before the process ends.
        if (!this.#stopping) void peer.answered().then(() => this.#fail());
        throw startError(error);
      }
    });
    peer.on('shutdown', shutdownSchema, ({ drainMs }) => this.stop(drainMs ?? undefined));
    peer.on('config/changed', configChangedSchema, ({ config }) => this.#running().edited(config));
    peer.on('tools/changed', nothing, () => {
      const { gateway, logger } = this.#running();
      gateway.refresh().catch(() => logger.warn('the host’s tools could not be listed anew'));
    });
    peer.on('tools/progress', progressSchema, ({ executionId, text }) =>
      this.#running().gateway.progress(executionId, text),
    );
    // Asked while calls still end, too: the tools of the host are at work until it says otherwise.
    peer.on('gate/check', gateCheckSchema, (asked) => this.#running().gate.check(asked));
    peer.on('approvals/decide', decideSchema, async (message) => ({
      reply: await this.#running().gate.decide(message),
    }));
    peer.on('outbound', outboundSchema, (message) => this.#running().inbox.take(message));
    peer.on('delta', deltaSchema, (delta) => {
      const { inbox } = this.#running();
      const message = this.#streams.take(delta);
      if (message) void inbox.take(message);
    });
  }

  #running(): Composition {
    if (this.#state.at !== 'running') throw wrongState();
    return this.#state.composition;
  }

  async #stop(drainMs: number | undefined): Promise<void> {
    const before = this.#state;
    this.#status('draining');
    let failed = false;
    try {
      const composition =
        before.at === 'running'
          ? before.composition
          : before.at === 'starting'
            ? await before.composing.catch(() => null)
            : null;
      await composition?.close(drainMs);
    } catch (error) {
      failed = true;
      this.#parts.onError(isVoiceError(error) ? error.code : 'INTERNAL');
    }
    this.#state = { at: 'stopped' };
    this.#status('stopped');
    // The answer to `shutdown` is one of those that have to be on their way; nothing else may hold up the end.
    const giveUp = this.#parts.clock.setTimeout(() => this.#onDone({ failed }), LAST_ANSWERS_MS);
    void this.#peer.answered().then(() => {
      giveUp.clear();
      this.#onDone({ failed });
    });
  }

  async #fail(): Promise<void> {
    this.#stopping ??= Promise.resolve();
    this.#state = { at: 'stopped' };
    this.#onDone({ failed: true });
  }

  #status(state: 'starting' | 'ready' | 'draining' | 'stopped'): void {
    const composition = this.#state.at === 'running' ? this.#state.composition : null;
    this.#peer.notify('status', {
      state,
      activeCalls: composition?.activeCalls() ?? 0,
      address: composition?.facts.address ?? null,
    });
  }
}

const wrongState = () =>
  new RpcError('Not now: the channel is not running, or is running already.', RPC.wrongState);

function startError(error: unknown): RpcError {
  if (error instanceof RpcError && error.code === RPC.wrongState) return error;
  const known = isVoiceError(error)
    ? error
    : new VoiceError('HOST_UNAVAILABLE', 'The channel could not be started; its log says more.');
  return new RpcError(known.message, RPC.cannotStart, { code: known.code });
}
