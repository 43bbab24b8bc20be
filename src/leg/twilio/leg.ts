/**
 * A phone call that reaches us as a Twilio media stream.
 *
 * @module
 */

import { isAscii } from 'node:buffer';
import {
  type AudioData,
  audioBase64,
  audioDurationMs,
  bytesPerMs,
  frameTicker,
  PCMU_8K,
} from '../../audio/index.ts';
import type { Clock } from '../../clock.ts';
import { Emitter } from '../../emitter.ts';
import { isVoiceError, VoiceError } from '../../errors.ts';
import type { CallLeg, CallLegEvents, LegCapabilities, LegCloseReason, ShowEvent } from '../contract.ts';
import type { TextSocket } from '../socket.ts';
import { GapFiller, SILENCE_FRAME_MS } from './gaps.ts';
import {
  clearMessage,
  markMessage,
  mediaMessages,
  parseTwilioMessage,
  type TwilioMedia,
  type TwilioStart,
} from './protocol.ts';

/** Bytes that may wait for Twilio to read them; beyond it the call is given up. */
export const MAX_BUFFERED_BYTES = 1024 * 1024;
/** Longest mark name, ours plus the generation in front of it. */
export const MAX_MARK_CHARS = 64;

/**
 * What the media stream can by itself.
 * Source: https://www.twilio.com/docs/voice/media-streams/websocket-messages
 */
export const TWILIO_CAPABILITIES: LegCapabilities = {
  carrier: 'twilio',
  input: PCMU_8K,
  output: PCMU_8K,
  pacing: 'platform',
  frameBytes: 160,
  maxLeadMs: 200,
  marks: 'echo',
  marksOnClear: 'echo',
  clear: 'silent',
  gain: false,
  screen: false,
  dtmfIn: true,
  dtmfOut: false,
  transfer: false,
};

/**
 * What the leg can where more than the stream is at hand.
 *
 * @param ways.control - calls can be changed over Twilio's REST API
 * @param ways.resumes - a stream that breaks off is followed by another one of the same call
 */
export function twilioCapabilities(ways: { control: boolean; resumes: boolean }): LegCapabilities {
  return {
    ...TWILIO_CAPABILITIES,
    transfer: ways.control,
    // Keys are played by other instructions than the stream's, which therefore has to come back after them.
    dtmfOut: ways.control && ways.resumes,
    reconnects: ways.resumes,
  };
}

/** The call that a stream belongs to, as it can be changed at Twilio. */
export interface TwilioControl {
  /** Ends it; fine when it is over. */
  hangUp(): Promise<void>;
  /** Connects the caller to a number or a SIP address. Twilio ends our stream for it. */
  dial(target: string): Promise<void>;
  /** Plays keys to the line. Twilio ends our stream for it, and opens another one afterwards. */
  playDigits(digits: string): Promise<void>;
}

/** 20 ms of µ-law silence (0xFF), as it travels. */
const SILENCE = Buffer.alloc(SILENCE_FRAME_MS * bytesPerMs(PCMU_8K), 0xff).toString('base64');

/** WebSocket close codes: normal, protocol error, a kind of data we don't take, try again later. */
const CLOSE_CODE: Record<LegCloseReason, number> = {
  caller_hangup: 1000,
  local_hangup: 1000,
  transferred: 1000,
  connection_lost: 1000,
  no_media: 1000,
  protocol_error: 1002,
  backpressure: 1013,
};

export interface TwilioLegOptions {
  /** A socket whose `connected` and `start` have been read; the leg is its sink from here on. */
  readonly socket: TextSocket;
  readonly start: TwilioStart;
  readonly clock: Clock;
  /** No frame of Twilio's for this long closes the leg with `no_media`; never, when left out. */
  readonly noMediaTimeoutMs?: number;
  /** @defaultValue those of the stream alone */
  readonly capabilities?: LegCapabilities;
  /** Without it the call can be ended only with the stream. */
  readonly control?: TwilioControl;
}

export class TwilioLeg extends Emitter<CallLegEvents> implements CallLeg {
  readonly capabilities: LegCapabilities;
  readonly streamSid: string;
  /** Twilio's id of the call. */
  readonly callSid: string;

  readonly #socket: TextSocket;
  readonly #clock: Clock;
  readonly #noMediaTimeoutMs: number;
  readonly #gaps = new GapFiller();
  readonly #mediaMessage: (payload: string) => string;
  /** Whether a `media` message is: base64, in a stream whose id is. */
  readonly #isAscii: boolean;
  /** Counts clears. It is part of a mark's name on the wire, so that a mark that `clear` sent back is known. */
  #generation = 0;
  #lastMediaAt: number;
  /** When to look whether frames are missing. */
  #lookAt: number;
  #closed = false;
  #control: TwilioControl | null;
  /** What the end of the stream means while Twilio does something of ours that ends it. */
  #handedOver: LegCloseReason | null = null;

  constructor(options: TwilioLegOptions) {
    super();
    this.#socket = options.socket;
    this.#clock = options.clock;
    this.capabilities = options.capabilities ?? TWILIO_CAPABILITIES;
    this.#control = options.control ?? null;
    this.#noMediaTimeoutMs = options.noMediaTimeoutMs ?? Number.POSITIVE_INFINITY;
    this.streamSid = options.start.streamSid;
    this.callSid = options.start.callSid;
    this.#mediaMessage = mediaMessages(this.streamSid);
    this.#isAscii = isAscii(Buffer.from(this.streamSid));
    this.#lastMediaAt = options.clock.now();
    this.#lookAt = this.#lastMediaAt;
    this.#socket.listen({
      message: (data) => this.#onMessage(data),
      closed: () => this.#close(this.#handedOver ?? 'connection_lost'),
    });
    frameTicker(this.#clock).add(this.#tick);
  }

  /** When the last frame of Twilio's came, in `clock.now()` time; silence that we put in does not count. */
  get lastMediaAt(): number {
    return this.#lastMediaAt;
  }

  send(_itemId: string, audio: AudioData): void {
    this.#sendText(this.#mediaMessage(audioBase64(audio)), this.#isAscii);
  }

  mark(name: string): void {
    if (name.length > MAX_MARK_CHARS) {
      throw new VoiceError('LEG_PROTOCOL', `A mark's name has at most ${MAX_MARK_CHARS} characters.`);
    }
    this.#sendText(markMessage(this.streamSid, `${this.#generation}:${name}`));
  }

  clear(): void {
    this.#generation += 1;
    this.#sendText(clearMessage(this.streamSid));
  }

  setGain(_level: number): void {}

  async sendDtmf(digits: string): Promise<void> {
    const control = this.#control;
    if (!control || !this.capabilities.dtmfOut)
      throw new VoiceError('LEG_UNSUPPORTED', 'A Twilio media stream cannot send digits.');
    await this.#handOver('connection_lost', () => control.playDigits(digits));
  }

  async transfer(target: string): Promise<void> {
    const control = this.#control;
    if (!control || !this.capabilities.transfer)
      throw new VoiceError('LEG_UNSUPPORTED', 'A Twilio media stream cannot transfer the call.');
    await this.#handOver('transferred', () => control.dial(target));
  }

  show(_event: ShowEvent): void {}

  /**
   * Ends the stream, and the call with it: what follows the stream in its TwiML asks us, and is told so. Where the call
   * can be changed at Twilio it is ended there too.
   */
  async hangup(): Promise<void> {
    if (this.#closed) return;
    // A call that was handed over is not ours to end any more.
    const control = this.#handedOver === null ? this.#control : null;
    this.#close('local_hangup');
    await control?.hangUp();
  }

  /** Another stream of the same call took over: ending this one ends no call. */
  superseded(): void {
    this.#control = null;
  }

  /** Twilio said by another way (a status callback) that the call is over. Idempotent. */
  carrierEnded(): void {
    this.#close('caller_hangup');
  }

  /** Twilio ends the stream before it answers, or after: either way it is no hang-up of the caller's. */
  async #handOver(reason: LegCloseReason, ask: () => Promise<void>): Promise<void> {
    this.#handedOver = reason;
    try {
      await ask();
    } catch (error) {
      this.#handedOver = null;
      throw error;
    }
  }

  #sendText(text: string, isAscii = false): void {
    if (this.#closed) return;
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.#close('backpressure');
      return;
    }
    this.#socket.send(text, isAscii);
  }

  #onMessage(data: string | Uint8Array): void {
    try {
      const message = parseTwilioMessage(data);
      if ('streamSid' in message && message.streamSid !== this.streamSid) {
        throw new VoiceError('LEG_PROTOCOL', "Twilio's media stream sent a message of another stream.");
      }
      switch (message.event) {
        case 'media':
          this.#onMedia(message);
          return;
        case 'dtmf':
          this.emit('dtmf', message.digit);
          return;
        case 'mark':
          this.#onMark(message.name);
          return;
        case 'stop':
          this.#close(this.#handedOver ?? 'caller_hangup');
          return;
        case 'connected':
        case 'start':
          throw new VoiceError('LEG_PROTOCOL', "Twilio's media stream started twice.");
        case 'unknown':
          return;
        default:
          message satisfies never;
      }
    } catch (error) {
      if (!isVoiceError(error, 'LEG_PROTOCOL')) throw error;
      this.#close('protocol_error');
    }
  }

  #onMedia(media: TwilioMedia): void {
    if (media.track !== 'inbound' || media.payload === '') return;
    const now = this.#clock.now();
    const durationMs = audioDurationMs(media.payload, PCMU_8K);
    this.#lastMediaAt = now;
    this.#emitSilence(this.#gaps.onMedia(media.timestampMs, durationMs, now));
    if (!this.#closed) this.emit('audio', media.payload);
  }

  #onMark(wireName: string): void {
    const colon = wireName.indexOf(':');
    if (colon < 1 || wireName.slice(0, colon) !== String(this.#generation)) return;
    this.emit('played', wireName.slice(colon + 1));
  }

  /** Every 20 ms, from the timer of all legs and calls: one of its own would be a new one three times a second. */
  readonly #tick = (now: number): void => {
    if (now < this.#lookAt) return;
    const deadlineInMs = this.#lastMediaAt + this.#noMediaTimeoutMs - now;
    if (deadlineInMs <= 0) {
      this.#close('no_media');
      return;
    }
    const { frames, nextInMs } = this.#gaps.onTick(now);
    this.#lookAt = now + Math.min(nextInMs, deadlineInMs);
    this.#emitSilence(frames);
  };

  #emitSilence(frames: number): void {
    for (let sent = 0; sent < frames && !this.#closed; sent += 1) this.emit('audio', SILENCE);
  }

  #close(reason: LegCloseReason): void {
    if (this.#closed) return;
    this.#closed = true;
    frameTicker(this.#clock).remove(this.#tick);
    this.#socket.listen(null);
    this.#socket.close(CLOSE_CODE[reason]);
    this.emit('closed', reason);
    this.removeAllListeners();
  }
}
