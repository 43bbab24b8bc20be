/**
 * A phone call that reaches us as a Twilio media stream.
 *
 * @module
 */

import { type AudioData, audioBase64, audioDurationMs, bytesPerMs, PCMU_8K } from '../../audio/index.ts';
import type { Clock, ClockTimer } from '../../clock.ts';
import { Emitter } from '../../emitter.ts';
import { isVoiceError, VoiceError } from '../../errors.ts';
import type { CallLeg, CallLegEvents, LegCapabilities, LegCloseReason, ShowEvent } from '../contract.ts';
import type { TextSocket } from '../socket.ts';
import { GapFiller, SILENCE_FRAME_MS } from './gaps.ts';
import {
  clearMessage,
  markMessage,
  mediaMessage,
  parseTwilioMessage,
  type TwilioMedia,
  type TwilioStart,
} from './protocol.ts';

/** Bytes that may wait for Twilio to read them; beyond it the call is given up. */
export const MAX_BUFFERED_BYTES = 1024 * 1024;
/** Longest mark name, ours plus the generation in front of it. */
export const MAX_MARK_CHARS = 64;

/** Source: https://www.twilio.com/docs/voice/media-streams/websocket-messages */
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

/** 20 ms of µ-law silence (0xFF), as it travels. */
const SILENCE = Buffer.alloc(SILENCE_FRAME_MS * bytesPerMs(PCMU_8K), 0xff).toString('base64');

/** WebSocket close codes: normal, protocol error, a kind of data we don't take, try again later. */
const CLOSE_CODE: Record<LegCloseReason, number> = {
  caller_hangup: 1000,
  local_hangup: 1000,
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
}

export class TwilioLeg extends Emitter<CallLegEvents> implements CallLeg {
  readonly capabilities = TWILIO_CAPABILITIES;
  readonly streamSid: string;
  /** Twilio's id of the call. */
  readonly callSid: string;

  readonly #socket: TextSocket;
  readonly #clock: Clock;
  readonly #noMediaTimeoutMs: number;
  readonly #gaps = new GapFiller();
  /** Counts clears. It is part of a mark's name on the wire, so that a mark that `clear` sent back is known. */
  #generation = 0;
  #lastMediaAt: number;
  #timer: ClockTimer | null = null;
  #closed = false;

  constructor(options: TwilioLegOptions) {
    super();
    this.#socket = options.socket;
    this.#clock = options.clock;
    this.#noMediaTimeoutMs = options.noMediaTimeoutMs ?? Number.POSITIVE_INFINITY;
    this.streamSid = options.start.streamSid;
    this.callSid = options.start.callSid;
    this.#lastMediaAt = options.clock.now();
    this.#socket.listen({
      message: (data) => this.#onMessage(data),
      closed: () => this.#close('connection_lost'),
    });
    this.#tick();
  }

  /** When the last frame of Twilio's came, in `clock.now()` time; silence that we put in does not count. */
  get lastMediaAt(): number {
    return this.#lastMediaAt;
  }

  send(_itemId: string, audio: AudioData): void {
    this.#sendText(mediaMessage(this.streamSid, audioBase64(audio)));
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

  async sendDtmf(_digits: string): Promise<void> {
    throw new VoiceError('LEG_UNSUPPORTED', 'A Twilio media stream cannot send digits.');
  }

  async transfer(_target: string): Promise<void> {
    throw new VoiceError('LEG_UNSUPPORTED', 'A Twilio media stream cannot transfer the call.');
  }

  show(_event: ShowEvent): void {}

  /** Closes the stream; the call ends with it, because nothing but `<Hangup/>` follows in its TwiML. */
  async hangup(): Promise<void> {
    this.#close('local_hangup');
  }

  /** Twilio said by another way (a status callback) that the call is over. Idempotent. */
  carrierEnded(): void {
    this.#close('caller_hangup');
  }

  #sendText(text: string): void {
    if (this.#closed) return;
    if (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES) {
      this.#close('backpressure');
      return;
    }
    this.#socket.send(text);
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
          this.#close('caller_hangup');
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

  /** One timer a leg, re-armed only when it fires. */
  #tick(): void {
    const now = this.#clock.now();
    const deadlineInMs = this.#lastMediaAt + this.#noMediaTimeoutMs - now;
    if (deadlineInMs <= 0) {
      this.#close('no_media');
      return;
    }
    const { frames, nextInMs } = this.#gaps.onTick(now);
    this.#emitSilence(frames);
    if (this.#closed) return;
    this.#timer = this.#clock.setTimeout(() => this.#tick(), Math.min(nextInMs, deadlineInMs));
  }

  #emitSilence(frames: number): void {
    for (let sent = 0; sent < frames && !this.#closed; sent += 1) this.emit('audio', SILENCE);
  }

  #close(reason: LegCloseReason): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.clear();
    this.#timer = null;
    this.#socket.listen(null);
    this.#socket.close(CLOSE_CODE[reason]);
    this.emit('closed', reason);
    this.removeAllListeners();
  }
}
