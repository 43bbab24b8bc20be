import { type Clock, delay } from '../../clock.ts';
import { isVoiceError, VoiceError } from '../../errors.ts';
import { createToolGatewayFacade, type ToolGateway } from '../../gateway/index.ts';
import type { Logger } from '../../observe/index.ts';
import type { MessageBus } from '../bus/index.ts';
import type { Channel, ChannelClass, ChannelExtras } from './channel.ts';
import { Delivery } from './delivery.ts';

/** Channels at most. */
export const MAX_CHANNELS = 64;
/** How long a channel may take to stop. */
export const CHANNEL_STOP_TIMEOUT_MS = 15_000;

export interface ChannelManagerOptions {
  readonly bus: MessageBus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** The host behind the gateway; without one no channel gets a gateway, opted in or not. */
  readonly agentLoop?: ToolGateway | null;
  /** Times a failed message is sent again. @defaultValue 3 */
  readonly sendMaxRetries?: number;
  /** What each channel's sessions see of the registry and may run, by the channel's name; all when left out. */
  readonly tools?: Readonly<Record<string, ChannelTools>>;
}

export interface ChannelTools {
  /** Exact names and globs; @defaultValue all */
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
}

export interface ChannelStatus {
  readonly state: 'idle' | 'running' | 'stopped' | 'failed';
  /** Why it failed: a code, or the message of a coded error; never a library's text. */
  readonly error: string | null;
}

interface Entry {
  readonly channel: Channel;
  readonly delivery: Delivery;
  status: ChannelStatus;
  serving: Promise<void> | null;
  stopping: Promise<void> | null;
}

const IDLE: ChannelStatus = { state: 'idle', error: null };

/** Builds channels, runs them, and takes messages from the bus to them; nanobot 0.3.0, `channels/manager.py`. */
export class ChannelManager {
  readonly #options: ChannelManagerOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #stopping = new AbortController();
  #dispatching: Promise<void> | null = null;

  constructor(options: ChannelManagerOptions) {
    this.#options = options;
  }

  /**
   * Builds a channel. `{ toolGateway }` is passed only when the class opts in and a host is wired; else the
   * channel is built with `(config, bus)` exactly as before.
   *
   * @throws VoiceError `CONFIG_INVALID` for a name that is taken, is `websocket` or is no name
   */
  add<Config, Built extends Channel>(channelClass: ChannelClass<Config, Built>, config: Config): Built {
    const name = channelClass.channelName;
    // `websocket` may reach loopback; nobody but nanobot's own channel is called so, and it isn't here.
    if (!/^[A-Za-z][A-Za-z0-9_]*$/.test(name) || name === 'websocket') {
      throw new VoiceError('CONFIG_INVALID', 'A channel is named with letters, digits and _; not websocket.');
    }
    if (this.#entries.has(name))
      throw new VoiceError('CONFIG_INVALID', `The channel ${name} is there already.`);
    if (this.#entries.size >= MAX_CHANNELS)
      throw new VoiceError('CONFIG_INVALID', 'There are too many channels.');
    const extras = this.#extrasFor(channelClass);
    const { bus, clock, logger, sendMaxRetries = 3 } = this.#options;
    const channel = extras ? new channelClass(config, bus, extras) : new channelClass(config, bus);
    const delivery = new Delivery({
      channel,
      clock,
      maxRetries: sendMaxRetries,
      onOutcome(outcome, error) {
        if (outcome === 'sent') return;
        logger.warn(
          { channel: name, outcome, code: isVoiceError(error) ? error.code : null },
          'message lost',
        );
      },
    });
    this.#entries.set(name, { channel, delivery, status: IDLE, serving: null, stopping: null });
    return channel;
  }

  /** Starts every channel and the dispatch of messages. A channel that fails shows in `status`. Idempotent. */
  startAll(): void {
    this.#dispatching ??= this.#dispatch();
    for (const [name, entry] of this.#entries) entry.serving ??= this.#serve(name, entry);
  }

  /** Stops the dispatch, then every channel, each within a bound. Idempotent. */
  async stopAll(): Promise<void> {
    this.#stopping.abort();
    await this.#dispatching;
    await Promise.all(
      [...this.#entries].map(([name, entry]) => {
        entry.delivery.stop();
        entry.stopping ??= this.#stop(name, entry);
        return entry.stopping;
      }),
    );
  }

  /** The state of every channel by name. */
  getStatus(): Readonly<Record<string, ChannelStatus>> {
    return Object.fromEntries([...this.#entries].map(([name, entry]) => [name, entry.status]));
  }

  #extrasFor({ channelName, wantsToolGateway }: ChannelClass): ChannelExtras | null {
    const { agentLoop, tools = {} } = this.#options;
    if (wantsToolGateway !== true || !agentLoop) return null;
    const { allow, deny } = Object.hasOwn(tools, channelName) ? (tools[channelName] ?? {}) : {};
    const toolGateway = createToolGatewayFacade(agentLoop, {
      channel: channelName,
      ...(allow && { allow }),
      ...(deny && { deny }),
    });
    return { toolGateway };
  }

  /** nanobot's `start` blocks for the channel's life: it returning is the channel having stopped. */
  async #serve(name: string, entry: Entry): Promise<void> {
    entry.status = { state: 'running', error: null };
    try {
      await entry.channel.start();
      entry.status = { state: 'stopped', error: null };
    } catch (error) {
      const reason = isVoiceError(error) ? `${error.code}: ${error.message}` : 'it failed; see the log';
      entry.status = { state: 'failed', error: reason };
      this.#options.logger.error(
        { channel: name, code: isVoiceError(error) ? error.code : null },
        'channel failed',
      );
    }
  }

  async #stop(name: string, { channel, serving }: Entry): Promise<void> {
    const { clock, logger } = this.#options;
    const giveUp = new AbortController();
    const stopped = Promise.all([channel.stop(), serving])
      .catch((error: unknown) => {
        logger.warn(
          { channel: name, code: isVoiceError(error) ? error.code : null },
          'channel failed to stop',
        );
      })
      .finally(() => giveUp.abort());
    const late = await delay(clock, CHANNEL_STOP_TIMEOUT_MS, giveUp.signal);
    if (late) logger.warn({ channel: name }, 'channel did not stop in time');
    else await stopped;
  }

  async #dispatch(): Promise<void> {
    for (;;) {
      const message = await this.#options.bus.consumeOutbound(this.#stopping.signal);
      if (message === null) return;
      const entry = this.#entries.get(message.channel);
      if (entry) entry.delivery.push(message);
      else this.#options.logger.warn('a message for a channel that is not there was dropped');
    }
  }
}
