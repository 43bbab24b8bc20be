/**
 * Media replies of one gateway: what calls may send, what their tools queue, and how it reaches the callers.
 *
 * @module
 */

import { createHash, randomBytes } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock, ClockTimer } from '../clock.ts';
import type { MediaConfig, ToolAuthorizationConfig } from '../config-media.ts';
import { isVoiceError, VoiceError } from '../errors.ts';
import type { ToolDefinition } from '../gateway/index.ts';
import type { Logger } from '../observe/index.ts';
import type { MediaStore, OutboxRow, ReplyRoute } from '../store/index.ts';
import { twilioAccount } from '../twilio-rest.ts';
import { Attachments } from './attachments.ts';
import { type Admission, admit } from './authorization.ts';
import type { DeliveryStep } from './delivery-attempts.ts';
import { MAX_OPEN_SESSIONS } from './limits.ts';
import { LinkSigner, loadSigningKey } from './links.ts';
import { OutboxWorker } from './outbox-worker.ts';
import { Pages } from './pages.ts';
import { Receipts } from './receipts.ts';
import { type MadeMedia, type MediaRunContext, type MediaStep, Replies } from './replies.ts';
import { type ChannelMessage, channelRoute } from './routes/channel.ts';
import type { DeliveryRoute } from './routes/contract.ts';
import { mmsRoute, smsRoute } from './routes/messages.ts';
import { pageRoute } from './routes/page.ts';
import { type SpokenLine, spokenRoute } from './routes/spoken.ts';
import { type MediaCaller, targetsOf } from './targets.ts';
import { TwilioMessages } from './twilio-messages.ts';

/** How often old things are swept. */
export const SWEEP_EVERY_MS = 10 * 60_000;
/** A tool that has not been committed after this belongs to a call that died. */
export const RECOVER_AFTER_MS = 60_000;
/** Finished deliveries, and the audit, are kept for so long. */
export const KEEP_FINISHED_MS = 30 * 24 * 3600 * 1000;
const RECOVER_ROWS = 500;
/** Larger pictures are in the record of a call by their caption only. */
const MAX_RECORDED_PICTURE_BYTES = 256 * 1024;

export interface MediaOptions {
  readonly store: MediaStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly authorization: ToolAuthorizationConfig;
  readonly config: MediaConfig;
  /** Whom everything of this gateway belongs to. */
  readonly tenant: string;
  /** Folder for bytes, files for channels and the signing key. */
  readonly directory: string;
  /** The address that carriers and callers reach us at; without one there is no MMS and no SMS. */
  readonly publicUrl?: string;
  /** Token of the messaging account, when the config has none. */
  readonly authToken?: string;
  /** Takes messages for the host's other channels. */
  readonly publish?: (message: ChannelMessage) => Promise<void> | void;
  /** Other processes use the same folder already: what looks left over may be what they write. @defaultValue false */
  readonly isJoining?: boolean;
  /** 0 to 1. @defaultValue `Math.random` */
  readonly random?: () => number;
  /** For tests: told of each durable step. */
  readonly onStep?: (step: MediaStep | DeliveryStep) => void;
}

/** Without a call on this process nothing can be said. */
const NO_LINE: SpokenLine = { isLive: () => false, speakFallback: async () => false };

export class Media {
  readonly attachments: Attachments;
  readonly pages: Pages;
  readonly signer: LinkSigner;
  readonly store: MediaStore;
  readonly clock: Clock;
  /** Where calls are spoken on; set by whoever has the calls. */
  line: SpokenLine = NO_LINE;
  readonly #options: MediaOptions;
  readonly #replies: Replies;
  readonly #worker: OutboxWorker;
  readonly #messages: TwilioMessages | null;
  readonly receipts: Receipts;
  /** Media tools there are. */
  readonly #available = new Set<string>();
  readonly #sessions = new Map<string, Admission>();
  #sweeping: ClockTimer | null = null;
  #closed = false;

  /** Opens the folder and the key. @throws when they can't be used */
  static async open(options: MediaOptions): Promise<Media> {
    const { signingKey } = options.config;
    const key =
      signingKey === undefined
        ? await loadSigningKey(join(options.directory, 'links.key'))
        : createHash('sha256').update(signingKey).digest();
    return new Media(options, new LinkSigner(key));
  }

  private constructor(options: MediaOptions, signer: LinkSigner) {
    const { store, clock, logger, config, directory, random = Math.random, onStep } = options;
    this.#options = options;
    this.store = store;
    this.clock = clock;
    this.signer = signer;
    this.pages = new Pages(clock);
    this.#messages = messagesOf(options);
    this.attachments = new Attachments({
      store,
      clock,
      directory: join(directory, 'blobs'),
      retentionMs: config.retentionHours * 3_600_000,
    });
    this.#worker = new OutboxWorker({
      store,
      attachments: this.attachments,
      clock,
      logger,
      random,
      owner: randomBytes(8).toString('hex'),
      routes: this.#routes(),
      onSent: (row, by) => void clock.track(this.#tell(row, by)),
      ...(onStep && { onStep }),
    });
    this.#replies = new Replies({
      store,
      clock,
      config,
      attachments: this.attachments,
      onQueued: () => this.#worker.poke(),
      ...(onStep && { onStep }),
    });
    this.receipts = new Receipts({ store, clock, logger, onDue: () => this.#worker.poke() });
    this.pages.onReady = (callId) => void this.#wakePage(callId);
  }

  /** A media tool exists and works. */
  addTool(name: string): void {
    this.#available.add(name);
  }

  removeTool(name: string): void {
    this.#available.delete(name);
  }

  isMediaTool(name: string): boolean {
    return this.#available.has(name);
  }

  /**
   * Fixes what a call may send and where it may go, before anything happens on it.
   *
   * @throws VoiceError `MEDIA_TOOL_UNAVAILABLE`, `STORE_*`
   */
  async openCall(caller: MediaCaller): Promise<void> {
    const { authorization, config, store, clock, tenant, publish } = this.#options;
    if (authorization.length === 0) return;
    const admission = admit(authorization, this.#available);
    const open = { messaging: this.#messages !== null, channels: publish !== undefined };
    await store.recordCallMedia({
      callId: caller.callId,
      tenant,
      sessionKey: caller.sessionKey,
      revision: admission.revision,
      tools: admission.tools,
      targets: targetsOf(caller, config, open),
      createdAt: clock.wallNow(),
    });
    if (this.#sessions.size >= MAX_OPEN_SESSIONS)
      throw new VoiceError('CALL_LIMIT_REACHED', 'Too many calls with media are open.');
    this.#sessions.set(caller.callId, admission);
  }

  /** Whether this call has media tools at all. */
  uses(callId: string): boolean {
    return (this.#sessions.get(callId)?.tools.length ?? 0) > 0;
  }

  closeCall(callId: string): void {
    this.#sessions.delete(callId);
  }

  /** The definitions that this call's session gets: media tools only when it was admitted to them. */
  visible(callId: string, definitions: readonly ToolDefinition[]): ToolDefinition[] {
    const allowed = this.#sessions.get(callId)?.tools ?? [];
    return definitions.filter(
      ({ function: { name } }) => !this.#available.has(name) || allowed.includes(name),
    );
  }

  /** Queues what `make` gives. @throws whatever went wrong; the model is told none of it */
  run(
    tool: string,
    context: MediaRunContext,
    signal: AbortSignal,
    make: () => Promise<MadeMedia>,
  ): Promise<void> {
    return this.#replies.run(tool, context, signal, make);
  }

  /** Something was committed that may be due. */
  poke(): void {
    this.#worker.poke();
  }

  /** Makes good what a crash left, then delivers and sweeps until it is closed. */
  async start(): Promise<void> {
    if (!this.#options.isJoining) await this.attachments.removeStrays();
    this.#worker.start();
    await this.sweep();
  }

  async sweep(): Promise<void> {
    const { store, clock, logger, directory } = this.#options;
    this.#sweeping?.clear();
    try {
      const now = clock.wallNow();
      const recovered = await store.recoverReplies(now - RECOVER_AFTER_MS, RECOVER_ROWS);
      if (recovered > 0) this.#worker.poke();
      await this.attachments.sweep();
      await store.pruneMedia(now - KEEP_FINISHED_MS);
      await removeOlder(join(directory, 'outgoing'), now - this.#options.config.retentionHours * 3_600_000);
    } catch (error) {
      logger.warn({ code: isVoiceError(error) ? error.code : null }, 'media could not be swept');
    }
    if (this.#closed) return;
    this.#sweeping = clock.setTimeout(() => void clock.track(this.sweep()), SWEEP_EVERY_MS);
  }

  /** Resolves when no delivery is under way; for tests. */
  idle(): Promise<void> {
    return this.#worker.idle();
  }

  /** Idempotent. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#sweeping?.clear();
    this.pages.close();
    await this.#worker.stop();
    await this.#messages?.close();
    this.#sessions.clear();
  }

  /** For the record of the call: what reached the caller, with the picture where it was shown. */
  async #tell({ tenant, event, attachmentId, kind, caption }: OutboxRow, route: ReplyRoute): Promise<void> {
    if (!this.line.sent || !this.line.isLive(event.callId)) return;
    const isShown = route !== 'spoken' && kind === 'image';
    const loaded = isShown
      ? await this.attachments.load(tenant, event, attachmentId).catch(() => null)
      : null;
    const isSmall = loaded !== null && loaded.bytes.length <= MAX_RECORDED_PICTURE_BYTES;
    const picture = isSmall
      ? `data:${loaded.attachment.mime};base64,${loaded.bytes.toString('base64')}`
      : undefined;
    this.line.sent(event.callId, { kind, caption, route, ...(picture !== undefined && { picture }) });
  }

  async #wakePage(callId: string): Promise<void> {
    const { store, clock } = this.#options;
    await clock.track(store.wakeOutbox(callId, 'page', clock.wallNow())).catch(() => {});
    this.#worker.poke();
  }

  #routes(): DeliveryRoute[] {
    const { store, clock, directory, publish, publicUrl } = this.#options;
    const { signer, pages } = this;
    const line: SpokenLine = {
      isLive: (callId) => this.line.isLive(callId),
      speakFallback: (callId, text, signal) => this.line.speakFallback(callId, text, signal),
    };
    const routes = [pageRoute({ pages, signer, clock }), spokenRoute(line)];
    if (this.#messages !== null && publicUrl !== undefined) {
      const base = publicUrl.replace(/\/+$/, '');
      const parts = { messages: this.#messages, signer, store, clock, publicBase: () => base };
      routes.push(mmsRoute(parts), smsRoute(parts));
    }
    if (publish) routes.push(channelRoute({ publish, directory: join(directory, 'outgoing') }));
    return routes;
  }
}

function messagesOf({ config, publicUrl, authToken: fallback }: MediaOptions): TwilioMessages | null {
  const { accountSid, authToken = fallback, from, messagingServiceSid, baseUrl } = config.messaging;
  const hasSender = from !== undefined || messagingServiceSid !== undefined;
  const account = twilioAccount({ accountSid, authToken });
  if (account === null || !hasSender || publicUrl === undefined) return null;
  return new TwilioMessages({
    ...account,
    baseUrl,
    ...(from !== undefined && { from }),
    ...(messagingServiceSid !== undefined && { messagingServiceSid }),
  });
}

async function removeOlder(directory: string, olderThan: number): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const path = join(directory, name);
    const { mtimeMs } = await stat(path);
    if (mtimeMs <= olderThan) await rm(path, { recursive: true, force: true });
  }
}
