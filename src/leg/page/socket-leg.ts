/**
 * A page's call over a WebSocket, for networks that let nothing else through: 20 ms of PCM16 at 24 kHz in each binary
 * frame, both ways, and the page's messages as text.
 *
 * @module
 */

import {
  type AudioData,
  audioBytes,
  bytesPerMs,
  FRAME_MS,
  type FrameTicker,
  frameTicker,
  PCM16_24K,
} from '../../audio/index.ts';
import type { Clock } from '../../clock.ts';
import { Emitter } from '../../emitter.ts';
import { VoiceError } from '../../errors.ts';
import type { CallLeg, CallLegEvents, LegCapabilities, LegCloseReason, ShowEvent } from '../contract.ts';
import type { TextSocket } from '../socket.ts';
import type { PageLink } from './link.ts';
import { Playout } from './playout.ts';
import type { PageCommand } from './protocol.ts';

/** A WebSocket that takes bytes too. */
export interface PageSocket extends TextSocket {
  /** Queues one binary message; does nothing once the socket is closing. */
  sendBytes(bytes: Uint8Array): void;
}

/** Longest binary message of a page's: 200 ms. */
export const MAX_SOCKET_AUDIO_BYTES = 9600;
/** A page's audio may be so much further than the clock; no stall of a network makes more. */
export const MAX_SOCKET_AHEAD_MS = 15_000;
/** Bytes that wait for the network; beyond it nothing is played until it has caught up (half a second). */
export const SOCKET_HIGH_WATER_BYTES = 24_000;
/** No audio for so long is a stall: silence goes on in its place. */
export const SOCKET_STALL_MS = 300;
/** Most silence for one stall. */
export const MAX_SOCKET_FILL_MS = 12_000;
/** What the page's own buffer holds, about, in ms. */
const PAGE_BUFFER_MS = 100;

/** The same as over WebRTC, so that a page may come back by the other way. */
export const PAGE_SOCKET_CAPABILITIES: LegCapabilities = {
  carrier: 'webrtc',
  input: PCM16_24K,
  output: PCM16_24K,
  pacing: 'sender',
  frameBytes: 960,
  maxLeadMs: 60,
  marks: 'echo',
  marksOnClear: 'drop',
  clear: 'silent',
  gain: true,
  screen: true,
  dtmfIn: true,
  dtmfOut: false,
  transfer: false,
  reconnects: true,
};

const SILENCE = new Uint8Array(PAGE_SOCKET_CAPABILITIES.frameBytes);

/** WebSocket close codes: normal, protocol error, try again later. */
const CLOSE_CODE: Record<LegCloseReason, number> = {
  caller_hangup: 1000,
  local_hangup: 1000,
  transferred: 1000,
  connection_lost: 1013,
  no_media: 1000,
  protocol_error: 1002,
  backpressure: 1013,
};

export interface PageSocketLegOptions {
  /** The leg is its sink from here on. */
  readonly socket: PageSocket;
  readonly link: PageLink;
  readonly clock: Clock;
  /** No audio for this long closes the leg with `no_media`. @defaultValue 30000 */
  readonly noMediaTimeoutMs?: number;
}

export class PageSocketLeg extends Emitter<CallLegEvents> implements CallLeg {
  readonly capabilities = PAGE_SOCKET_CAPABILITIES;
  readonly #socket: PageSocket;
  readonly #link: PageLink;
  readonly #clock: Clock;
  readonly #noMediaTimeoutMs: number;
  readonly #ticker: FrameTicker;
  readonly #playout: Playout;
  readonly #startedAt: number;
  #receivedMs = 0;
  #lastMediaAt: number;
  /** Clock time up to which audio, or silence for it, was handed on. */
  #filledAt: number;
  #closed = false;
  /** The socket takes nothing more. */
  #closing = false;

  constructor({ socket, link, clock, noMediaTimeoutMs }: PageSocketLegOptions) {
    super();
    this.#socket = socket;
    this.#link = link;
    this.#clock = clock;
    this.#noMediaTimeoutMs = noMediaTimeoutMs ?? 30_000;
    this.#ticker = frameTicker(clock);
    this.#startedAt = clock.now();
    this.#lastMediaAt = this.#startedAt;
    this.#filledAt = this.#startedAt;
    this.#playout = new Playout(this.capabilities.frameBytes, {
      frame: (pcm) => {
        if (pcm) socket.sendBytes(pcm);
      },
      played: (mark) => this.emit('played', mark),
      delayMs: PAGE_BUFFER_MS,
    });
    socket.listen({
      message: (data) => this.#onMessage(data),
      closed: (code) => this.#close(code === 1000 ? 'caller_hangup' : 'connection_lost'),
    });
    const isClosing = () => this.#closing;
    link.on('command', (command) => this.#onCommand(command));
    link.on('refused', () => this.#close('protocol_error'));
    link.opened({
      get bufferedAmount() {
        return socket.bufferedAmount;
      },
      get isOpen() {
        return !isClosing();
      },
      send: (text) => socket.send(text),
    });
    this.#ticker.add(this.#tick);
  }

  send(_itemId: string, audio: AudioData): void {
    if (this.#closed) return;
    const bytes = audioBytes(audio);
    const { frameBytes } = this.capabilities;
    if (bytes.byteLength % frameBytes !== 0)
      throw new VoiceError('LEG_PROTOCOL', `Audio comes in whole frames of ${frameBytes} bytes.`);
    // The network has let nothing through for seconds: the page will come back, or it will not.
    if (!this.#playout.push(bytes, this.#clock.now())) this.#close('connection_lost');
  }

  mark(name: string): void {
    if (!this.#closed) this.#playout.mark(name, this.#clock.now());
  }

  clear(): void {
    this.#playout.clear();
  }

  setGain(level: number): void {
    this.#playout.setGain(level);
  }

  sendDtmf(_digits: string): Promise<void> {
    return Promise.reject(new VoiceError('LEG_UNSUPPORTED', 'A web page is sent no digits.'));
  }

  transfer(_target: string): Promise<void> {
    return Promise.reject(
      new VoiceError('LEG_UNSUPPORTED', 'A call from a web page can not be transferred.'),
    );
  }

  show(event: ShowEvent): void {
    if (!this.#closed) this.#link.show(event);
  }

  hangup(): Promise<void> {
    this.#close('local_hangup');
    return Promise.resolve();
  }

  #onMessage(data: string | Uint8Array): void {
    if (typeof data === 'string') {
      this.#link.receive(data);
      return;
    }
    const isPcm =
      data.byteLength > 0 && data.byteLength % 2 === 0 && data.byteLength <= MAX_SOCKET_AUDIO_BYTES;
    const now = this.#clock.now();
    this.#receivedMs += data.byteLength / bytesPerMs(PCM16_24K);
    if (!isPcm || this.#receivedMs - (now - this.#startedAt) > MAX_SOCKET_AHEAD_MS) {
      this.#close('protocol_error');
      return;
    }
    // What was held up by the network is speech all the same: nothing is lost on this way, only late.
    this.#lastMediaAt = now;
    this.#filledAt = now;
    // A message may lie at an odd place of a larger buffer: samples of two bytes can't be read there.
    this.emit('audio', data.byteOffset % 2 === 0 ? data : new Uint8Array(data));
  }

  #onCommand(command: PageCommand): void {
    switch (command.type) {
      case 'text':
        this.emit('text', command.text);
        break;
      case 'dtmf':
        this.emit('dtmf', command.digit);
        break;
      case 'hangup':
        this.#close('caller_hangup');
        break;
    }
  }

  readonly #tick = (now: number): void => {
    const silentMs = now - this.#lastMediaAt;
    if (silentMs >= this.#noMediaTimeoutMs) {
      this.#close('no_media');
      return;
    }
    if (silentMs >= SOCKET_STALL_MS && silentMs < MAX_SOCKET_FILL_MS) {
      for (; this.#filledAt + FRAME_MS <= now && !this.#closed; this.#filledAt += FRAME_MS)
        this.emit('audio', SILENCE);
    }
    if (!this.#closed && this.#socket.bufferedAmount <= SOCKET_HIGH_WATER_BYTES) this.#playout.tick(now);
  };

  #close(reason: LegCloseReason): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#ticker.remove(this.#tick);
    this.#socket.listen(null);
    if (reason === 'local_hangup' || reason === 'caller_hangup') this.#link.tell({ type: 'ended', reason });
    this.#closing = true;
    this.#socket.close(CLOSE_CODE[reason]);
    this.#playout.clear();
    this.emit('closed', reason);
    this.removeAllListeners();
    this.#link.closed();
  }
}
