import { type Clock, delay } from '../../clock.ts';
import { isVoiceError } from '../../errors.ts';
import {
  carriedCall,
  type ExecuteToolOptions,
  type ToolDefinition,
  type ToolGateway,
  type ToolResult,
} from '../../gateway/index.ts';
import type { Logger } from '../../observe/index.ts';
import { type InboundMessage, type MessageBus, sessionKeyOf } from '../bus/index.ts';
import type { ChatModel } from '../chat/index.ts';
import type { Sessions } from '../sessions/index.ts';
import { KeyedQueue } from '../sessions/keyed-queue.ts';
import { runTextTurn } from './text-turn.ts';
import { ToolRunner, type ToolRunnerOptions } from './tool-runner.ts';

/** Text turns under way or waiting, over all sessions. */
export const MAX_PENDING_TURNS = 200;
/** How long the running turns may take to stop. */
export const STOP_TIMEOUT_MS = 15_000;

export interface AgentLoopOptions extends ToolRunnerOptions {
  readonly bus: MessageBus;
  readonly sessions: Sessions;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Who answers text; `null` when the config names nobody. */
  readonly model: ChatModel | null;
  /** Times the model may ask for tools in one turn. */
  readonly maxIterations: number;
  /** One session for every chat. */
  readonly unifiedSession?: boolean;
  /** Messages that decide about approvals and are not for the model. */
  readonly commands?: BusCommands | null;
}

/** Takes messages out before the agent sees them. */
export interface BusCommands {
  isCommand(content: string): boolean;
  /** The answer; `null` when it was for the agent after all. */
  command(message: InboundMessage): Promise<string | null>;
}

const NO_MODEL =
  'No language model answers text here. Name one in the config: agents.defaults.model, and an apiKey (or an ' +
  'apiBase) under providers.';
const BUSY = 'I have too many messages to answer. Please try again in a minute.';

/** The agent: answers text from the bus, and is the `ToolGateway` that channels get a facade of. */
export class AgentLoop implements ToolGateway {
  readonly #options: AgentLoopOptions;
  readonly #runner: ToolRunner;
  readonly #turns = new KeyedQueue(MAX_PENDING_TURNS);
  /** What `/stop` ends: the turns of each session, running and waiting. */
  readonly #stops = new Map<string, Set<AbortController>>();
  readonly #stopping = new AbortController();
  #consuming: Promise<void> | null = null;

  constructor(options: AgentLoopOptions) {
    this.#options = options;
    this.#runner = new ToolRunner(options);
  }

  getToolDefinitions(): ToolDefinition[] {
    return this.#runner.getToolDefinitions();
  }

  /** One tool, with the same guards as in a text turn; text turns call this very function. */
  executeTool(
    sessionKey: string,
    name: string,
    args: unknown,
    options: ExecuteToolOptions,
  ): Promise<ToolResult> {
    return this.#runner.executeTool(sessionKey, name, args, options);
  }

  /** Sessions with turns or tool calls under way; for leak tests. */
  get activeSessions(): number {
    return this.#turns.size + this.#runner.activeSessions;
  }

  /** Begins to answer. Idempotent. */
  start(): void {
    this.#consuming ??= this.#consume();
  }

  /** Takes no more messages, ends the running turns, and waits for them within a bound. Idempotent. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const stops of this.#stops.values()) for (const stop of stops) stop.abort();
    const giveUp = new AbortController();
    const done = Promise.all([this.#consuming, this.#turns.idle()]).finally(() => giveUp.abort());
    if (await delay(this.#options.clock, STOP_TIMEOUT_MS, giveUp.signal)) {
      this.#options.logger.warn('text turns did not stop in time');
      return;
    }
    await done;
  }

  async #consume(): Promise<void> {
    for (;;) {
      const message = await this.#options.bus.consumeInbound(this.#stopping.signal);
      if (message === null) return;
      this.#accept(message);
    }
  }

  #accept(message: InboundMessage): void {
    const { commands, logger } = this.#options;
    if (commands?.isCommand(message.content)) {
      commands.command(message).then(
        (answer) => (answer === null ? this.#begin(message) : this.#reply(message, answer)),
        (error: unknown) => {
          logger.warn({ code: isVoiceError(error) ? error.code : null }, 'a decision failed');
          this.#reply(message, 'That did not work, and nothing was decided. Please try again.');
        },
      );
      return;
    }
    this.#begin(message);
  }

  #begin(message: InboundMessage): void {
    // The one name that may reach loopback; no channel of this host is called so, so whoever says it is none.
    if (message.channel === 'websocket') {
      this.#options.logger.warn('a message that claims to come from websocket was dropped');
      return;
    }
    const key = this.#options.unifiedSession ? 'unified:default' : sessionKeyOf(message);
    if (message.content.trim() === '/stop') {
      const stopped = this.#stops.get(key)?.size ?? 0;
      for (const stop of this.#stops.get(key) ?? []) stop.abort();
      this.#reply(message, stopped > 0 ? 'Stopped.' : 'There is nothing to stop.');
      return;
    }
    const stop = this.#register(key);
    void this.#turns
      .run(key, () => this.#turn(key, message, stop.signal))
      .catch(() => this.#reply(message, BUSY))
      .finally(() => this.#unregister(key, stop));
  }

  /** Never rejects: whatever goes wrong is an answer. */
  async #turn(sessionKey: string, message: InboundMessage, signal: AbortSignal): Promise<void> {
    const { model, logger } = this.#options;
    if (signal.aborted) return;
    if (model === null) {
      this.#reply(message, NO_MODEL);
      return;
    }
    try {
      const { channel, chatId, content } = message;
      const call = carriedCall(message);
      const text = await runTextTurn(
        { sessionKey, channel, chatId, content, signal, ...(call && { call }) },
        { ...this.#options, model, tools: this },
      );
      this.#reply(message, text);
    } catch (error) {
      if (signal.aborted) return;
      const code = isVoiceError(error) ? error.code : 'HOST_UNAVAILABLE';
      logger.warn({ code, channel: message.channel }, 'a text turn failed');
      this.#reply(
        message,
        isVoiceError(error) ? `Error: ${error.message}` : 'Error: something went wrong here.',
      );
    }
  }

  #reply(message: InboundMessage, content: string): void {
    const { channel, chatId, metadata } = message;
    try {
      this.#options.bus.publishOutbound({ channel, chatId, content, media: [], metadata });
    } catch (error) {
      this.#options.logger.warn(
        { code: isVoiceError(error) ? error.code : null, channel },
        'an answer was lost',
      );
    }
  }

  #register(key: string): AbortController {
    const stop = new AbortController();
    if (this.#stopping.signal.aborted) stop.abort();
    const stops = this.#stops.get(key) ?? new Set();
    this.#stops.set(key, stops.add(stop));
    return stop;
  }

  #unregister(key: string, stop: AbortController): void {
    const stops = this.#stops.get(key);
    stops?.delete(stop);
    if (stops?.size === 0) this.#stops.delete(key);
  }
}
