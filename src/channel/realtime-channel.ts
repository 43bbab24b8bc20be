/**
 * The channel that nanobot sees: built with its config section and the bus, it opts in to the tool gateway, listens
 * for calls from `start()` to `stop()`, and speaks what the agent sends.
 *
 * @module
 */

import { mkdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import type { Registry } from 'prom-client';
import { loadAudio } from '../audio/index.ts';
import { CallDesk, type LateResult, loadPrompts, toolPolicyOf } from '../call/index.ts';
import { type Clock, realClock } from '../clock.ts';
import { type RealtimeConfig, type RealtimeConfigInput, realtimeConfigSchema } from '../config.ts';
import { isGateOn } from '../config-approvals.ts';
import { VoiceError } from '../errors.ts';
import type { ToolGateway } from '../gateway/index.ts';
import { warmUpOpus } from '../leg/webrtc/index.ts';
import type { Media, SpokenLine } from '../media/index.ts';
import type { CommandModelFactoryOptions } from '../model/command/index.ts';
import type { HistoryItem, RealtimeModelFactory } from '../model/index.ts';
import { createLogger, type Logger } from '../observe/index.ts';
import {
  announceGateway,
  createVoiceServer,
  type OperatorParts,
  pluginDataDirectory,
  type VoiceServer,
} from '../server/index.ts';
import { createSynthesiser, type Synthesiser } from '../speech/index.ts';
import { openStore, type Store } from '../store/index.ts';
import type { WorkerSlot } from '../worker-slot.ts';
import { BusDelegate, isInboundBus } from './bus-delegate.ts';
import { historyOfTurns } from './history.ts';
import { createModels } from './models.ts';
import { configuredParts, openCallRecords, openPeers } from './page-parts.ts';

/** From when it listens until it loads what the first call needs. */
const WARM_UP_AFTER_MS = 50;

export const CHANNEL_NAME = 'realtime';

/** A message of the agent's for a chat, as the bus carries it. */
export interface ChannelMessage {
  readonly chatId: string;
  readonly content: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** What an embedder may replace; everything has a default. */
export interface ChannelParts {
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** An open store; the channel does not close it. */
  readonly store?: Store;
  /** Folder for what the channel keeps. @defaultValue `~/.nanobot/realtime` */
  readonly dataDirectory?: string;
  /** Who the agent is, when the config does not say. */
  readonly persona?: string;
  readonly models?: RealtimeModelFactory;
  readonly synthesiser?: Synthesiser;
  /** What a session held before the call: earlier calls and text turns, oldest first. */
  readonly history?: (sessionKey: string, limit: number) => Promise<readonly HistoryItem[]>;
  readonly onTurnFinal?: (sessionKey: string) => void;
  /** Asked for each new call, with the caller's id or an empty text, beside `allowFrom`. */
  readonly admits?: (senderId: string) => Promise<boolean>;
  /** Says when the gateway's tools are others; running calls get them. Returns what ends the listening. */
  readonly onToolsChanged?: (listener: () => void) => () => void;
  /** Told of the result of a tool that outlived its call and is to be delivered; it is a turn of the session as well. */
  readonly deliverLate?: (late: LateResult) => void;
  /**
   * The operator's login, without which there are no pages; and the gate's other half, which has to be there when the
   * config has a gate.
   */
  readonly operator?: OperatorParts;
  /** Lets the Agent Plugin of this workspace read calls; without it there is no interface for it. */
  readonly plugin?: { readonly workspace: string };
  /** Of this package, for the pages. */
  readonly version?: string;
  /** Pictures and files for callers; the channel starts it, and does not close it. */
  readonly media?: Media;
  readonly slotValues?: CommandModelFactoryOptions['slotValues'];
  readonly registry?: Registry;
  /** One worker process of several, behind one port. */
  readonly slot?: WorkerSlot | null;
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface RealtimeChannelOptions {
  /** Handed over by the channel manager because `wantsToolGateway` says so. */
  readonly toolGateway?: ToolGateway;
  readonly parts?: ChannelParts;
}

const DEFAULT_PERSONA = 'You are nanobot, a helpful personal assistant.';

interface Running {
  readonly desk: CallDesk;
  readonly server: VoiceServer;
  readonly models: RealtimeModelFactory;
  readonly store: Store;
  readonly address: string;
  readonly release: () => Promise<void>;
}

export class RealtimeVoiceChannel {
  static readonly channelName = CHANNEL_NAME;
  /** Opts in: the channel manager passes `{ toolGateway }`. */
  static readonly wantsToolGateway = true;

  readonly name = CHANNEL_NAME;
  readonly config: RealtimeConfig;
  readonly #gateway: ToolGateway | null;
  readonly #parts: ChannelParts;
  readonly #logger: Logger;
  readonly #delegate: BusDelegate | null;
  #running: Running | null = null;
  #starting: Promise<Running> | null = null;
  #stopping: Promise<void> | null = null;
  #release: () => void = () => {};

  /**
   * @param config - the section `channels.realtime`
   * @param bus - nanobot's message bus. What a caller says does not go through it; a whole request for the text agent
   *   does (`tools.mode`)
   * @throws VoiceError `CONFIG_INVALID`
   */
  constructor(
    config: RealtimeConfigInput | RealtimeConfig,
    bus: unknown,
    options: RealtimeChannelOptions = {},
  ) {
    const parsed = realtimeConfigSchema.safeParse(config);
    if (!parsed.success) {
      const lines = parsed.error.issues.map(
        (issue) => `channels.realtime.${issue.path.join('.')}: ${issue.message}`,
      );
      throw new VoiceError('CONFIG_INVALID', lines.join('\n'));
    }
    this.config = parsed.data;
    this.#gateway = options.toolGateway ?? null;
    this.#parts = options.parts ?? {};
    this.#delegate = isInboundBus(bus) ? new BusDelegate(bus) : null;
    this.#logger = this.#parts.logger ?? createLogger(this.config.logLevel);
  }

  get isRunning(): boolean {
    return this.#running !== null;
  }

  /** The desk of calls, while running. */
  get desk(): CallDesk | null {
    return this.#running?.desk ?? null;
  }

  get server(): VoiceServer | null {
    return this.#running?.server ?? null;
  }

  /** Where it listens, while running. */
  get address(): string | null {
    return this.#running?.address ?? null;
  }

  /** What the callers talk to, in plain words. */
  get modelDescription(): string | null {
    return this.#running?.models.description ?? null;
  }

  /** Listens for calls; resolves once it does. */
  listen(): Promise<void> {
    this.#starting ??= this.#open();
    return this.#starting.then(() => {});
  }

  /** Listens for calls, and resolves when the channel was stopped: a channel's `start` blocks for its life. */
  async start(): Promise<void> {
    const stopped = new Promise<void>((resolve) => {
      this.#release = resolve;
    });
    await this.listen();
    await stopped;
  }

  /** Takes no new calls, lets the running ones end within the bound, frees everything. Idempotent. */
  stop(): Promise<void> {
    this.#stopping ??= this.#close();
    return this.#stopping;
  }

  /**
   * Speaks a message of the agent's to the caller of that chat. Without one on the line it rings the person up, where
   * the config says so, and is not for us otherwise.
   */
  async send(message: ChannelMessage): Promise<void> {
    if (this.#delegate?.deliver(message)) return;
    const { chatId, content } = message;
    const isProgress = message.metadata?._progress === true;
    const call = this.#running?.desk.callOfChat(chatId);
    if (call) await call.speakVerbatim(content);
    else if (await this.#speakElsewhere(chatId, content)) return;
    else if (isProgress || !(await this.ring(chatId, content)))
      this.#logger.debug('a message came for a chat that has no call');
  }

  /** The chat's call may be another worker's. */
  async #speakElsewhere(chatId: string, text: string): Promise<boolean> {
    const { slot } = this.#parts;
    return (await slot?.askOthers<'speak'>({ kind: 'speak', chatId, text }))?.includes(true) ?? false;
  }

  /** Rings up the person of a chat, where the config lists them; whether they will hear this when they answer. */
  async ring(chatId: string, text: string): Promise<boolean> {
    return (await this.#running?.server.ring(chatId, text)) ?? false;
  }

  async #open(): Promise<Running> {
    const { config } = this;
    const { clock = realClock, env = process.env } = this.#parts;
    const logger = this.#logger;
    if (isGateOn(config.approvals.toolGate) && !this.#parts.operator?.approvals) {
      throw new VoiceError(
        'CONFIG_INVALID',
        'channels.realtime.approvals: the host of this channel has no gate; only `start` of this package brings one.',
      );
    }
    if (config.tools.mode !== 'direct' && !this.#delegate)
      logger.warn(
        'channels.realtime.tools.mode: there is no bus to ask the agent over; tools are called directly',
      );
    const prompts = loadPrompts(config.locale);
    const undo: (() => Promise<unknown>)[] = [];
    try {
      const audio = loadAudio();
      const dataDirectory = this.#parts.dataDirectory ?? join(homedir(), '.nanobot', 'realtime');
      const store = this.#parts.store ?? (await this.#openStore(dataDirectory));
      if (!this.#parts.store) undo.push(() => store.close());
      await Promise.all([audio, store.closeStaleCalls(clock.wallNow())]);
      const synthesiser = this.#parts.synthesiser ?? createSynthesiser({ locale: config.locale });
      if (!this.#parts.synthesiser) undo.push(() => synthesiser.close());
      const { slotValues, history, slot = null } = this.#parts;
      const models =
        this.#parts.models ??
        createModels({ config, clock, logger, synthesiser, env, ...(slotValues ? { slotValues } : {}) });
      if (!this.#parts.models) undo.push(() => models.close());
      const recordingDirectory = config.recording.enabled
        ? (config.recording.directory ?? join(dataDirectory, 'recordings'))
        : null;
      const desk = new CallDesk({
        config,
        clock,
        logger,
        models,
        synthesiser,
        store,
        prompts,
        channel: CHANNEL_NAME,
        gateway: this.#gateway,
        persona: config.persona ?? this.#parts.persona ?? DEFAULT_PERSONA,
        toolPolicy: toolPolicyOf(config),
        delegate: this.#delegate,
        history: (key) =>
          history ? history(key, config.historyRows) : historyOfTurns(store, key, config.historyRows),
        recordingDirectory,
        ...(this.#parts.admits ? { admits: this.#parts.admits } : {}),
        ...(this.#parts.onTurnFinal ? { onTurnFinal: this.#parts.onTurnFinal } : {}),
        ...(this.#parts.deliverLate ? { deliverLate: this.#parts.deliverLate } : {}),
        approvals: this.#parts.operator?.approvals?.inline ?? null,
        media: this.#parts.media ?? null,
        slot,
      });
      undo.push(async () => desk.hangUpAll());
      slot?.answers('speak', ({ chatId, text }) => {
        const call = desk.callOfChat(chatId);
        void call?.speakVerbatim(text);
        return call !== undefined;
      });
      const unsubscribe = this.#parts.onToolsChanged?.(() => desk.refreshTools());
      undo.push(async () => unsubscribe?.());
      const { operator, media, version, plugin } = this.#parts;
      const hasPages = operator !== undefined && config.page.enabled;
      const records = operator
        ? await openCallRecords(config, dataDirectory, clock, logger, slot !== null)
        : null;
      if (records) {
        desk.onCall = (call) => call.on('ended', (_reason, record) => void records.keep(record));
        undo.push(() => records.close());
      }
      const peers = hasPages ? await openPeers(config, clock, logger, slot) : null;
      if (peers) undo.push(() => peers.close());
      const server: VoiceServer = createVoiceServer({
        config,
        desk,
        clock,
        logger,
        env,
        slot,
        ...(operator ? { operator } : {}),
        ...(media ? { media } : {}),
        ...(version === undefined ? {} : { version }),
        peers,
        ...(records ? { archive: { store, records, recordings: recordingDirectory } } : {}),
        configured: () =>
          configuredParts({
            config,
            model: models.description,
            tools: this.#gateway?.getToolDefinitions().length ?? null,
            twilio: server.twilio,
            hasWebRtc: peers !== null,
            hasMedia: media !== undefined,
          }),
        ...(plugin
          ? {
              plugin: {
                store,
                clock,
                directory: await pluginDataDirectory(dataDirectory, plugin.workspace),
                ownerSession: `${CHANNEL_NAME}:${config.page.ownerId}`,
              },
            }
          : {}),
        checks: { store: () => store.ping() },
        ...(this.#parts.registry ? { registry: this.#parts.registry } : {}),
      });
      if (media) {
        media.line = lineOf(desk);
        await media.start();
      }
      const { url } = await server.listen();
      // Whoever waits for us to listen does not wait for what only a call needs.
      const warming = clock.setTimeout(() => {
        models.warmUp?.();
        if (peers) warmUpOpus();
      }, WARM_UP_AFTER_MS);
      undo.push(async () => warming.clear());
      // Undone in reverse: that no calls are taken any more comes before everything else.
      let withdraw = async () => {};
      undo.push(() => withdraw());
      undo.push(() => server.close());
      if (plugin) withdraw = await announceGateway(dataDirectory, url, slot ? process.ppid : process.pid);
      const release = async () => {
        for (const step of undo.reverse()) await step();
      };
      this.#running = { desk, server, models, store, address: url, release };
      return this.#running;
    } catch (error) {
      for (const step of undo.reverse()) await step().catch(() => {});
      throw error;
    }
  }

  async #openStore(dataDirectory: string): Promise<Store> {
    const { engine, url } = this.config.store;
    if (engine === 'postgres') {
      if (url === undefined)
        throw new VoiceError('CONFIG_INVALID', 'channels.realtime.store.url: needed for postgres.');
      return openStore({ engine, url });
    }
    await mkdir(dataDirectory, { recursive: true, mode: 0o700 });
    return openStore({ engine: 'sqlite', file: join(dataDirectory, 'realtime.db') });
  }

  async #close(): Promise<void> {
    const running = await this.#starting?.catch(() => null);
    await running?.release();
    this.#running = null;
    this.#release();
  }
}

/** Says a media reply's fallback on whichever call it belongs to. */
export function lineOf(desk: CallDesk): SpokenLine {
  return {
    isLive: (callId) => desk.call(callId)?.isAttached ?? false,
    speakFallback: async (callId, text, signal) =>
      (await desk.call(callId)?.speakWhenQuiet(text, signal)) ?? false,
    sent: (callId, sent) => desk.call(callId)?.mediaSent(sent),
  };
}
