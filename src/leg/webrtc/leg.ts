/**
 * A call from a browser, or from another WebRTC client.
 *
 * @module
 */

import { type AudioData, audioBytes, type FrameTicker, frameTicker, PCM16_24K } from '../../audio/index.ts';
import type { Clock } from '../../clock.ts';
import { Emitter } from '../../emitter.ts';
import { VoiceError } from '../../errors.ts';
import type { CallLeg, CallLegEvents, LegCloseReason, ShowEvent } from '../contract.ts';
import { type PageCommand, type PageLink, Playout } from '../page/index.ts';
import { WEBRTC_CAPABILITIES } from './capabilities.ts';
import type { MediaConnection } from './native.ts';
import { AudioReceiver, type ReceiverCounters } from './receiver.ts';
import { parseRtcp, roundTripMs, writeReport } from './rtcp.ts';
import { isRtcp } from './rtp.ts';
import { AudioSender } from './sender.ts';

/** A connection that is not up by then never will be. */
export const CONNECT_TIMEOUT_MS = 15_000;
/** A connection that broke off may come back by itself for so long. */
export const DISCONNECT_GRACE_MS = 10_000;
export const NO_MEDIA_TIMEOUT_MS = 30_000;
/** Reports to the peer, and the line's quality to the page. */
export const REPORT_EVERY_MS = 2000;
/** After a hang-up, the last messages still go out. */
export const LINGER_MS = 250;
/** What a browser's own jitter buffer and sound card hold, about, in ms. */
const LISTENER_BUFFER_MS = 60;

export interface WebRtcLegOptions {
  readonly connection: MediaConnection;
  readonly clock: Clock;
  readonly link: PageLink | null;
  readonly payloadType: number;
  /** The peer wants to hear us. */
  readonly receives: boolean;
  readonly ssrc: number;
  readonly cname: string;
  readonly firstSequence: number;
  readonly firstTimestamp: number;
  readonly bitrate: number;
  readonly complexity: number;
  readonly noMediaTimeoutMs: number;
  /** The connection came up (`true`), or the leg closed before it did. Called once. */
  readonly settled: (isUp: boolean) => void;
  /** The leg is closed and its connection as well. Called once. */
  readonly freed: () => void;
}

export class WebRtcLeg extends Emitter<CallLegEvents> implements CallLeg {
  readonly capabilities = WEBRTC_CAPABILITIES;
  readonly #options: WebRtcLegOptions;
  readonly #ticker: FrameTicker;
  readonly #receiver: AudioReceiver;
  readonly #sender: AudioSender | null;
  readonly #playout: Playout;
  readonly #startedAt: number;
  #connectedAt: number | null = null;
  #lostAt: number | null = null;
  #reportedAt: number;
  #roundTripMs: number | null = null;
  #before: ReceiverCounters;
  #settled = false;
  #closed = false;

  constructor(options: WebRtcLegOptions) {
    super();
    this.#options = options;
    const { clock, connection, link, payloadType } = options;
    this.#startedAt = clock.now();
    this.#reportedAt = this.#startedAt;
    this.#ticker = frameTicker(clock);
    this.#receiver = new AudioReceiver({
      payloadType,
      sampleRate: PCM16_24K.sampleRate,
      onAudio: (pcm) => this.emit('audio', pcm),
    });
    this.#before = this.#receiver.counters();
    this.#sender = options.receives
      ? new AudioSender({ ...options, send: (packet) => connection.send(packet) })
      : null;
    const delayMs = () => LISTENER_BUFFER_MS + Math.min(500, (this.#roundTripMs ?? 0) / 2);
    this.#playout = new Playout(this.capabilities.frameBytes, {
      frame: (pcm, at) => this.#sender?.frame(pcm, at),
      played: (mark) => this.emit('played', mark),
      get delayMs() {
        return delayMs();
      },
    });
    connection.listen({
      connected: () => this.#onConnected(),
      disconnected: () => {
        this.#lostAt ??= clock.now();
      },
      gone: () => this.#close('connection_lost'),
      packet: (bytes) => this.#onPacket(bytes),
      channelOpen: (transport) => link?.opened(transport),
      message: (text) => link?.receive(text),
    });
    link?.on('command', (command) => this.#onCommand(command));
    link?.on('refused', () => this.#close('protocol_error'));
    this.#ticker.add(this.#tick);
  }

  /** What came of the caller's packets so far. */
  get received(): ReceiverCounters {
    return this.#receiver.counters();
  }

  /** How long a gap in the caller's packets waits now, in ms. */
  get waitMs(): number {
    return this.#receiver.waitMs;
  }

  /** Round trip by RTCP, in ms; `null` while unknown. */
  get roundTripMs(): number | null {
    return this.#roundTripMs;
  }

  send(_itemId: string, audio: AudioData): void {
    if (this.#closed) return;
    const bytes = audioBytes(audio);
    if (bytes.byteLength % this.capabilities.frameBytes !== 0)
      throw new VoiceError(
        'LEG_PROTOCOL',
        `Audio comes in whole frames of ${this.capabilities.frameBytes} bytes.`,
      );
    const isTaken = this.#playout.push(bytes, this.#options.clock.now());
    // Before the connection is up, nothing plays; what is too much then was too early.
    if (!isTaken && this.#connectedAt !== null) this.#close('backpressure');
  }

  mark(name: string): void {
    if (!this.#closed) this.#playout.mark(name, this.#options.clock.now());
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
    if (!this.#closed) this.#options.link?.show(event);
  }

  hangup(): Promise<void> {
    this.#close('local_hangup');
    return Promise.resolve();
  }

  /** The client said by signalling that the call is over. Idempotent. */
  callerEnded(): void {
    this.#close('caller_hangup');
  }

  #onConnected(): void {
    this.#lostAt = null;
    if (this.#connectedAt !== null) return;
    this.#connectedAt = this.#options.clock.now();
    this.#settle(true);
  }

  #settle(isUp: boolean): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#options.settled(isUp);
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

  #onPacket(bytes: Uint8Array): void {
    if (this.#closed) return;
    const now = this.#options.clock.now();
    if (!isRtcp(bytes)) this.#receiver.receive(bytes, now);
    else this.#onReport(bytes, now);
  }

  #onReport(bytes: Uint8Array, now: number): void {
    const report = parseRtcp(bytes);
    if (!report) return;
    if (report.senderTime) this.#receiver.reported(report.senderTime.ssrc, report.senderTime.middle, now);
    for (const block of report.blocks) {
      if (block.ssrc !== this.#options.ssrc) continue;
      this.#sender?.reported(block.fractionLost);
      this.#roundTripMs = roundTripMs(block, this.#options.clock.wallNow()) ?? this.#roundTripMs;
    }
  }

  readonly #tick = (now: number): void => {
    const overdue = this.#overdue(now);
    if (overdue) {
      this.#close(overdue);
      return;
    }
    if (this.#connectedAt === null) return;
    this.#receiver.tick(now);
    if (!this.#closed) this.#playout.tick(now);
    if (!this.#closed && now - this.#reportedAt >= REPORT_EVERY_MS) this.#report(now);
  };

  #overdue(now: number): LegCloseReason | null {
    if (this.#connectedAt === null)
      return now - this.#startedAt >= CONNECT_TIMEOUT_MS ? 'connection_lost' : null;
    if (this.#lostAt !== null && now - this.#lostAt >= DISCONNECT_GRACE_MS) return 'connection_lost';
    const quietSince = Math.max(this.#connectedAt, this.#receiver.lastPacketAt);
    return now - quietSince >= this.#options.noMediaTimeoutMs ? 'no_media' : null;
  }

  #report(now: number): void {
    const { clock, connection, ssrc, cname, link } = this.#options;
    const periodMs = now - this.#reportedAt;
    this.#reportedAt = now;
    const block = this.#receiver.report(now);
    const sent = this.#sender?.info(now) ?? null;
    connection.send(writeReport({ ssrc, cname, wallNow: clock.wallNow(), sent, block }));
    const counters = this.#receiver.counters();
    const filledMs = counters.filledMs - this.#before.filledMs;
    this.#before = counters;
    link?.tell({
      type: 'quality',
      lossPercent: Math.round((block?.fractionLost ?? 0) * 1000) / 10,
      concealedPercent: Math.round(Math.min(1, filledMs / periodMs) * 1000) / 10,
      jitterBufferMs: Math.round(this.#receiver.waitMs),
      roundTripMs: this.#roundTripMs === null ? null : Math.round(this.#roundTripMs),
    });
  }

  #close(reason: LegCloseReason): void {
    if (this.#closed) return;
    this.#closed = true;
    const { clock, connection, link, freed } = this.#options;
    this.#ticker.remove(this.#tick);
    connection.listen(null);
    this.#receiver.close();
    this.#sender?.close();
    this.#playout.clear();
    this.emit('closed', reason);
    this.removeAllListeners();
    this.#settle(false);
    const end = () => {
      connection.close();
      freed();
    };
    const isHangup = reason === 'local_hangup' || reason === 'caller_hangup';
    if (isHangup) link?.tell({ type: 'ended', reason });
    link?.closed();
    if (isHangup && this.#connectedAt !== null) clock.setTimeout(end, LINGER_MS);
    else end();
  }
}
