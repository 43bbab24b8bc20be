/**
 * A session with a server that speaks OpenAI's GA realtime dialect, as a `RealtimeModel`.
 *
 * @module
 */

import {
  type AudioData,
  type AudioFormat,
  audioBase64,
  bytesPerMs,
  loadAudio,
  sameFormat,
} from '../../audio/index.ts';
import type { Clock } from '../../clock.ts';
import type { RealtimeConfig } from '../../config.ts';
import { Emitter } from '../../emitter.ts';
import { VoiceError } from '../../errors.ts';
import type { ToolDefinition } from '../../gateway/index.ts';
import type { Logger } from '../../observe/index.ts';
import type {
  HistoryItem,
  ModelCapabilities,
  ModelError,
  ModelSessionConfig,
  RealtimeModel,
  RealtimeModelEvents,
  ResponseRequest,
} from '../contract.ts';
import * as client from './client-events.ts';
// By its own name, not as a property of its module: it is called fifty times a second and call.
import { audioAppend } from './client-events.ts';
import { type ConnectionEnd, ModelConnection } from './connection.ts';
import type { Endpoint } from './endpoint.ts';
import {
  closeMeaning,
  connectErrorCode,
  connectErrorCodeOfClose,
  errorMessage,
  safeCode,
  severityOf,
} from './error-table.ts';
import { HeldAudio } from './held-audio.ts';
import { InboundReader } from './inbound.ts';
import type { DialectProfile } from './profiles.ts';
import { ResponseTracker } from './response-tracker.ts';
import { parseServerEvent, type ServerEvent, type ServerSession } from './server-events.ts';
import { SessionExpiry } from './session-expiry.ts';
import type { OpenModelSocket } from './socket.ts';
import { fromWireFormat } from './wire-format.ts';

/** Commands kept before the session is ready (audio has its own bound). */
export const MAX_HELD_COMMANDS = 64;
/** Messages a server may get wrong before the session is given up. */
export const MAX_MALFORMED_EVENTS = 50;

export interface OpenAiModelOptions {
  readonly profile: DialectProfile;
  readonly config: RealtimeConfig['model'];
  readonly endpoint: Endpoint;
  readonly capabilities: ModelCapabilities;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly openSocket: OpenModelSocket;
}

type State =
  | { readonly at: 'new' | 'ready' | 'closed' }
  | {
      readonly at: 'connecting';
      readonly resolve: () => void;
      readonly reject: (error: VoiceError) => void;
    };

export class OpenAiModel extends Emitter<RealtimeModelEvents> implements RealtimeModel {
  readonly capabilities: ModelCapabilities;
  readonly #options: OpenAiModelOptions;
  readonly #clock: Clock;
  readonly #responses: ResponseTracker;
  readonly #inbound: InboundReader;
  readonly #expiry: SessionExpiry;
  #state: State = { at: 'new' };
  #connection: ModelConnection | null = null;
  #session: ModelSessionConfig | null = null;
  #held: { audio: HeldAudio; commands: (() => void)[] } | null = null;
  #outputBytesPerMs = 8;
  #eventCount = 0;
  #malformed = 0;
  #ignored = 0;

  constructor(options: OpenAiModelOptions) {
    super();
    this.#options = options;
    this.#clock = options.clock;
    this.capabilities = options.capabilities;
    this.#responses = new ResponseTracker(options.profile.correlation);
    this.#expiry = new SessionExpiry(options.capabilities.maxSessionMs, options.clock);
    this.#inbound = new InboundReader(this, this.#responses, options.clock, {
      cancel: (responseId) => this.#send(client.responseCancel(this.#eventId(), responseId)),
      refuse: (code) => this.#refuse(code),
    });
    this.onListenerError = (error, event) =>
      options.logger.error({ err: error, event }, 'model listener failed');
  }

  /** Events of the server that this client does not use, since the start. */
  get ignoredEvents(): number {
    return this.#ignored;
  }

  connect(session: ModelSessionConfig): Promise<void> {
    if (this.#state.at !== 'new') {
      return Promise.reject(new VoiceError('MODEL_SESSION_CLOSED', 'A model session is connected once.'));
    }
    const { profile, endpoint, openSocket } = this.#options;
    for (const [format, formats] of [
      [session.inputFormat, profile.inputFormats],
      [session.outputFormat, profile.outputFormats],
    ] as const) {
      if (!formats.some((each) => sameFormat(each, format))) {
        const name = `${format.encoding} at ${format.sampleRate} Hz`;
        return Promise.reject(
          new VoiceError('AUDIO_FORMAT_UNSUPPORTED', `${profile.label} does not take ${name}.`),
        );
      }
    }
    // Only for a server that insists on another format; ready long before it can say so.
    this.#clock.track(loadAudio()).catch(() => {});
    this.#session = session;
    this.#held = { audio: new HeldAudio(session.inputFormat), commands: [] };
    return new Promise((resolve, reject) => {
      this.#state = { at: 'connecting', resolve, reject };
      this.#connection = new ModelConnection(endpoint, openSocket, this.#clock, {
        opened: () => this.#configure(),
        message: (data) => this.#receive(data),
        ended: (end) => this.#ended(end),
      });
    });
  }

  updateSession(changes: { instructions?: string; tools?: readonly ToolDefinition[] }): void {
    const { instructions } = changes;
    // A session that is up needs its tools for nothing any more.
    const kept = this.#state.at !== 'ready' ? changes : instructions === undefined ? {} : { instructions };
    if (this.#session) this.#session = { ...this.#session, ...kept };
    this.#whenReady(() => this.#send(client.sessionChange(this.#eventId(), this.#options.profile, changes)));
  }

  restore(history: readonly HistoryItem[]): void {
    this.#whenReady(() => {
      for (const item of history) this.#send(client.messageItem(this.#eventId(), item));
    });
  }

  appendAudio(audio: AudioData): void {
    if (this.#state.at === 'ready') this.#connection?.send(audioAppend(audioBase64(audio)), true);
    else this.#held?.audio.push(audio);
  }

  addContext(role: 'user' | 'system', text: string): void {
    this.restore([{ role, text }]);
  }

  sendToolOutput(callId: string, output: string): void {
    this.#whenReady(() => this.#send(client.toolOutput(this.#eventId(), callId, output)));
  }

  requestResponse(request: ResponseRequest): void {
    this.#whenReady(() => {
      this.#responses.expectRequest(request.requestId);
      const instructions = client.responseInstructions(this.#session?.instructions ?? '', request);
      this.#send(
        client.responseCreate(this.#options.profile, {
          requestId: request.requestId,
          ...(instructions === null ? {} : { instructions }),
          speakOnly: request.say !== undefined,
        }),
      );
    });
  }

  cancelResponse(): void {
    this.#whenReady(() => {
      const decision = this.#responses.wantCancel(this.#clock.now());
      switch (decision.type) {
        case 'send':
          this.#send(client.responseCancel(this.#eventId(), decision.responseId));
          break;
        case 'nothing':
          this.#refuse('response_cancel_not_active');
          break;
        case 'later':
        case 'already':
          break;
        default:
          decision satisfies never;
      }
    });
  }

  truncate(itemId: string, heardMs: number): void {
    const item = this.#inbound.spoken(itemId);
    if (this.#state.at !== 'ready') return;
    if (!item) {
      this.#refuse('unsupported_content_type');
      return;
    }
    // Never more than the server sent, never a fraction, never NaN: it refuses those and forgets nothing.
    const receivedMs = Math.floor(item.bytes / this.#outputBytesPerMs);
    const audioEndMs = Number.isFinite(heardMs) ? Math.min(receivedMs, Math.max(0, Math.floor(heardMs))) : 0;
    this.#send(client.itemTruncate(this.#eventId(), itemId, item.contentIndex, audioEndMs));
  }

  deleteItem(itemId: string): void {
    this.#whenReady(() => this.#send(client.itemDelete(this.#eventId(), itemId)));
  }

  close(): void {
    const state = this.#state;
    if (state.at === 'closed') return;
    this.#connection?.close(1000);
    this.#finish(1000, 'closed_locally');
    if (state.at === 'connecting') {
      state.reject(
        new VoiceError('MODEL_SESSION_CLOSED', 'The model session was closed before it was ready.'),
      );
    }
  }

  #configure(): void {
    if (!this.#session) return;
    const { profile, config, capabilities } = this.#options;
    const interruptResponse = capabilities.interruptsItself;
    this.#send(
      client.sessionUpdate(this.#eventId(), {
        profile,
        config,
        interruptResponse,
        session: this.#session,
      }),
    );
  }

  #receive(data: string | Uint8Array): void {
    const parsed = parseServerEvent(data);
    switch (parsed.kind) {
      case 'ignored':
        this.#ignored += 1;
        break;
      case 'malformed':
        this.#malformed += 1;
        this.#options.logger.warn({ eventType: parsed.type }, 'the model sent a malformed event');
        if (this.#malformed > MAX_MALFORMED_EVENTS) {
          this.#connection?.close(1002);
          this.#abandon('malformed_events', 'retryable', 1002);
        } else {
          this.#refuse('malformed_event');
        }
        break;
      case 'event':
        this.#on(parsed.event);
        break;
      default:
        parsed satisfies never;
    }
  }

  #on(event: ServerEvent): void {
    switch (event.type) {
      case 'error':
        this.#onError(safeCode(event.error.code, event.error.type), event.error.event_id ?? null);
        break;
      case 'session.created':
        break;
      case 'session.updated':
        if (this.#state.at === 'connecting') this.#onConfigured(event.session);
        break;
      default:
        this.#inbound.read(event);
    }
  }

  #onConfigured(session: ServerSession): void {
    const state = this.#state;
    const asked = this.#session;
    const held = this.#held;
    if (state.at !== 'connecting' || !asked || !held) return;
    const inputFormat = acknowledged(session.audio?.input?.format, asked.inputFormat);
    const outputFormat = acknowledged(session.audio?.output?.format, asked.outputFormat);
    if (!inputFormat || !outputFormat) {
      this.#failConnect(
        new VoiceError('MODEL_PROTOCOL', 'The model chose an audio format that we do not speak.'),
      );
      return;
    }
    this.#outputBytesPerMs = bytesPerMs(outputFormat);
    this.#state = { at: 'ready' };
    this.#held = null;
    this.#connection?.established();
    this.#expiry.watch(session.expires_at ?? null, (inMs) => this.emit('expiring', { inMs }));
    const { history, ...rest } = asked;
    if (history) this.restore(history);
    // The server has them now; a copy of every tool for every call is memory for nothing.
    this.#session = { ...rest, tools: [] };
    for (const command of held.commands) command();
    this.#release(held.audio, inputFormat);
    this.emit('ready', { inputFormat, outputFormat });
    state.resolve();
  }

  #release(held: HeldAudio, format: AudioFormat): void {
    try {
      for (const audio of held.take(format)) this.appendAudio(audio);
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'held caller audio could not be converted');
    }
    const droppedMs = Math.round(held.droppedMs);
    if (droppedMs > 0) this.#options.logger.warn({ droppedMs }, 'held caller audio was dropped');
  }

  #onError(code: string, eventId: string | null): void {
    const severity = severityOf(code);
    const state = this.#state;
    // Nothing but `session.update` has been sent by then, so whatever is wrong is wrong with that.
    if (state.at === 'connecting') {
      this.#failConnect(new VoiceError(connectErrorCode(code), errorMessage(code, 'fatal')));
      return;
    }
    const requestId = eventId !== null && this.#responses.refused(eventId) ? eventId : null;
    this.emit('error', {
      severity,
      code,
      message: errorMessage(code, severity),
      ...(requestId === null ? {} : { requestId }),
    });
  }

  #failConnect(error: VoiceError): void {
    const state = this.#state;
    this.#connection?.close(1000);
    this.#finish(1000, 'connect_failed');
    if (state.at === 'connecting') state.reject(error);
  }

  #ended(end: ConnectionEnd): void {
    const state = this.#state;
    switch (end.type) {
      case 'failed':
        this.#finish(1006, 'connect_failed');
        if (state.at === 'connecting') state.reject(end.error);
        break;
      case 'closed': {
        const { code, severity } = closeMeaning(end.code);
        if (state.at === 'connecting') {
          this.#finish(end.code, code);
          state.reject(new VoiceError(connectErrorCodeOfClose(end.code), errorMessage(code, severity)));
        } else {
          this.#abandon(code, severity, end.code);
        }
        break;
      }
      case 'dead':
        this.#abandon(end.why, 'retryable', 1006);
        break;
      default:
        end satisfies never;
    }
  }

  /** The session is lost: says so, then `closed`. */
  #abandon(code: string, severity: ModelError['severity'], closeCode: number): void {
    const state = this.#state;
    if (state.at === 'closed') return;
    this.emit('error', { severity, code, message: errorMessage(code, severity) });
    this.#finish(closeCode, code);
    if (state.at === 'connecting')
      state.reject(new VoiceError('MODEL_PROTOCOL', errorMessage(code, severity)));
  }

  #finish(code: number, reason: string): void {
    if (this.#state.at === 'closed') return;
    this.#state = { at: 'closed' };
    this.#held = null;
    this.#expiry.clear();
    this.emit('closed', { code, reason });
  }

  /** A message of ours that the server would refuse, or one of the server's that we refuse. */
  #refuse(code: string): void {
    this.emit('error', { severity: 'benign', code, message: errorMessage(code, 'benign') });
  }

  #whenReady(command: () => void): void {
    if (this.#state.at === 'ready') command();
    else if (this.#held && this.#held.commands.length < MAX_HELD_COMMANDS) this.#held.commands.push(command);
    else if (this.#state.at !== 'closed') this.#refuse('too_many_held_commands');
  }

  #send(text: string): void {
    this.#connection?.send(text);
  }

  #eventId(): string {
    this.#eventCount += 1;
    return `client_${this.#eventCount}`;
  }
}

/** The format on the wire: the server's word, or ours where it says nothing. */
function acknowledged(format: unknown, asked: AudioFormat): AudioFormat | null {
  return format == null ? asked : fromWireFormat(format);
}
