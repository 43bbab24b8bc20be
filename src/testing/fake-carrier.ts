/**
 * `FakeCarrier`: a caller behind Twilio's media streams. It speaks when told, hears at real speed on its clock,
 * echoes marks as they are heard, and records every message that Twilio would refuse.
 *
 * @module
 */

import type { Clock, ClockTimer } from '../clock.ts';
import type { TextSocket } from '../leg/index.ts';
import { type DialAnswer, type DialTarget, dialWebhook } from './carrier/dial.ts';
import { type CarrierLink, memoryLink, webSocketLink } from './carrier/link.ts';
import { BYTES_PER_MS, type HeardSegment, Playout, SILENCE } from './carrier/playout.ts';
import { type CarrierViolation, readOutbound } from './carrier/stream-message.ts';

/** Audio of one inbound frame, in ms. */
export const CARRIER_FRAME_MS = 20;
const FRAME_BYTES = CARRIER_FRAME_MS * BYTES_PER_MS;
const SILENT_FRAME = new Uint8Array(FRAME_BYTES).fill(SILENCE);

export interface FakeCarrierOptions {
  readonly clock: Clock;
  readonly streamSid?: string;
  readonly callSid?: string;
  readonly accountSid?: string;
  /** The `<Parameter>`s of the `<Stream>`. */
  readonly customParameters?: Readonly<Record<string, string>>;
}

const DEFAULT_SIDS = {
  streamSid: `MZ${'0'.repeat(31)}1`,
  callSid: `CA${'0'.repeat(31)}1`,
  accountSid: `AC${'0'.repeat(31)}1`,
} as const;

interface Waiter {
  readonly isDue: () => boolean;
  readonly resolve: () => void;
}

/** One message the server sent, as the carrier read it. */
export interface CarrierReceipt {
  readonly atMs: number;
  readonly event: 'media' | 'mark' | 'clear';
  /** Bytes of audio, of `media`. */
  readonly bytes?: number;
  /** Name, of `mark`. */
  readonly name?: string;
}

export class FakeCarrier {
  readonly streamSid: string;
  readonly callSid: string;
  readonly accountSid: string;
  /** What Twilio would have refused. Empty at the end of a good call. */
  readonly violations: CarrierViolation[] = [];
  /** Everything the server sent that was in order. */
  readonly received: CarrierReceipt[] = [];
  /** Names of marks echoed, in order, and whether a `clear` sent them back. */
  readonly echoed: { readonly name: string; readonly atMs: number; readonly cleared: boolean }[] = [];
  /** Close code, once the connection is closed. */
  closeCode: number | null = null;
  readonly #clock: Clock;
  readonly #link: CarrierLink;
  readonly #customParameters: Readonly<Record<string, string>>;
  readonly #playout = new Playout();
  #speech: Uint8Array[] = [];
  #speechAt = 0;
  #waiters: Waiter[] = [];
  #timer: ClockTimer | null = null;
  #startedAt = 0;
  #started = false;
  #frames = 0;
  #chunk = 0;
  #sequence = 0;
  #sendsMedia = true;
  #lastHeardAt: number | null = null;

  constructor(link: CarrierLink, options: FakeCarrierOptions) {
    this.#link = link;
    this.#clock = options.clock;
    this.streamSid = options.streamSid ?? DEFAULT_SIDS.streamSid;
    this.callSid = options.callSid ?? DEFAULT_SIDS.callSid;
    this.accountSid = options.accountSid ?? DEFAULT_SIDS.accountSid;
    this.#customParameters = options.customParameters ?? {};
    link.listen({ message: (data) => this.#receive(data), closed: (code) => this.#closed(code) });
  }

  /** A caller in memory, and the socket to make a leg of. */
  static inMemory(options: FakeCarrierOptions): { carrier: FakeCarrier; socket: TextSocket } {
    const { link, socket } = memoryLink();
    return { carrier: new FakeCarrier(link, options), socket };
  }

  /** A caller who dials a running server's stream address. Rejects when the server refuses the handshake. */
  static async connect(
    url: string,
    options: FakeCarrierOptions & { readonly headers?: Readonly<Record<string, string>> },
  ): Promise<FakeCarrier> {
    return new FakeCarrier(await webSocketLink(url, options.headers), options);
  }

  /**
   * Calls a running server's number: posts its signed webhook and, when the TwiML connects the call to a
   * stream, opens that. The call begins with `start`.
   *
   * @returns `carrier` is `null` when the server turned the call away; `answer.twiml` says how
   */
  static async dial(
    target: DialTarget,
    options: FakeCarrierOptions,
  ): Promise<{ readonly answer: DialAnswer; readonly carrier: FakeCarrier | null }> {
    const { callSid = DEFAULT_SIDS.callSid, accountSid = DEFAULT_SIDS.accountSid } = options;
    const answer = await dialWebhook(target, { callSid, accountSid });
    if (answer.streamUrl === null) return { answer, carrier: null };
    const { customParameters, headers } = answer;
    const carrier = await FakeCarrier.connect(answer.streamUrl, { ...options, customParameters, headers });
    return { answer, carrier };
  }

  /** Ms since the stream started. */
  get nowMs(): number {
    return this.#started ? this.#clock.now() - this.#startedAt : 0;
  }

  get isClosed(): boolean {
    return this.closeCode !== null;
  }

  /** Resolves when the connection is closed, by whichever side. */
  whenClosed(): Promise<void> {
    return this.isClosed ? Promise.resolve() : this.#when(() => false);
  }

  /** Audio received and not yet heard, in ms. */
  get queuedMs(): number {
    return this.#playout.queuedMs;
  }

  /** Sends `connected` and `start`; from here a frame goes out every 20 ms. */
  start(): void {
    if (this.#started || this.isClosed) return;
    this.#started = true;
    this.#startedAt = this.#clock.now();
    this.#link.send(JSON.stringify({ event: 'connected', protocol: 'Call', version: '1.0.0' }));
    this.#send('start', {
      start: {
        streamSid: this.streamSid,
        accountSid: this.accountSid,
        callSid: this.callSid,
        tracks: ['inbound'],
        customParameters: this.#customParameters,
        mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
      },
    });
    this.#arm();
  }

  /**
   * Says something: 8 kHz µ-law, behind what is being said already.
   *
   * @returns a promise that resolves when it has been said
   */
  speak(audio: Uint8Array): Promise<void> {
    this.#speech.push(audio);
    return this.#when(() => !this.#speech.includes(audio));
  }

  /** Is quiet from here on, whatever was still to be said. */
  stopSpeaking(): void {
    this.#speech = [];
    this.#speechAt = 0;
  }

  get isSpeaking(): boolean {
    return this.#speech.length > 0;
  }

  /** Resolves once the caller hears the agent. */
  whenAgentSpeaks(): Promise<void> {
    const before = this.#lastHeardAt;
    return this.#when(() => this.#lastHeardAt !== null && this.#lastHeardAt !== before);
  }

  /** Resolves once the agent has spoken and then been quiet for `quietMs`. */
  whenAgentIdle(quietMs = 400): Promise<void> {
    return this.#when(
      () => this.#lastHeardAt !== null && this.queuedMs === 0 && this.nowMs - this.#lastHeardAt >= quietMs,
    );
  }

  /** Resolves once `ms` have passed on the line. */
  wait(ms: number): Promise<void> {
    const until = this.nowMs + ms;
    return this.#when(() => this.nowMs >= until);
  }

  /** Presses a key: `0`-`9`, `*`, `#`. */
  dtmf(digit: string): void {
    this.#send('dtmf', { streamSid: this.streamSid, dtmf: { track: 'inbound_track', digit } });
  }

  /** Hangs up: `stop`, then the connection closes. */
  hangup(): void {
    if (this.isClosed) return;
    this.#send('stop', {
      streamSid: this.streamSid,
      stop: { accountSid: this.accountSid, callSid: this.callSid },
    });
    this.#timer?.clear();
    this.#link.close(1000);
  }

  /** Breaks the connection without `stop`. */
  reset(): void {
    this.#timer?.clear();
    this.#link.reset();
  }

  /** No frames go out (call on hold, discontinuous transmission); time on the line goes on. */
  pauseMedia(): void {
    this.#sendsMedia = false;
  }

  resumeMedia(): void {
    this.#sendsMedia = true;
  }

  /** Stops reading what the server sends. */
  stallReading(): void {
    this.#link.pause();
  }

  resumeReading(): void {
    this.#link.resume();
  }

  /** Sends text as it is, to see what the server makes of it. */
  sendRaw(text: string): void {
    this.#link.send(text);
  }

  sendBinary(data: Uint8Array): void {
    this.#link.sendBinary(data);
  }

  /** Everything heard since `start`, gaps as silence: 8 kHz µ-law. */
  heard(): Uint8Array {
    return this.#playout.heard();
  }

  /** What was heard, split at pauses longer than `gapMs`. */
  heardSegments(gapMs = 0): HeardSegment[] {
    return this.#playout.segments(gapMs);
  }

  /** Drops what was recorded so far, for calls that go on for hours: `heard`, `received` and `echoed` begin anew. */
  forget(): void {
    this.#playout.forget();
    this.received.length = 0;
    this.echoed.length = 0;
  }

  /** @throws Error naming what Twilio would have refused */
  assertClean(): void {
    if (this.violations.length === 0) return;
    const list = this.violations.map(({ code, reason, atMs }) => `${code} at ${atMs} ms: ${reason}`);
    throw new Error(`Twilio would have refused:\n${list.join('\n')}`);
  }

  #receive(data: string | Uint8Array): void {
    const read = readOutbound(data, this.streamSid);
    if (!read.ok) {
      this.#violated(read.code, read.reason);
      return;
    }
    const { message } = read;
    const atMs = this.nowMs;
    if (!this.#started) {
      this.#violated(31924, 'a message before the stream started');
      return;
    }
    switch (message.event) {
      case 'media':
        this.received.push({ atMs, event: 'media', bytes: message.audio.byteLength });
        if (!this.#playout.enqueue(message.audio)) this.#violated(31924, 'more audio than can be buffered');
        break;
      case 'mark':
        this.received.push({ atMs, event: 'mark', name: message.name });
        for (const name of this.#playout.mark(message.name)) this.#echo(name, false);
        break;
      case 'clear':
        this.received.push({ atMs, event: 'clear' });
        for (const name of this.#playout.clear()) this.#echo(name, true);
        break;
      default:
        message satisfies never;
    }
  }

  #violated(code: CarrierViolation['code'], reason: string): void {
    this.violations.push({ code, reason, atMs: this.nowMs });
  }

  #echo(name: string, cleared: boolean): void {
    this.echoed.push({ name, atMs: this.nowMs, cleared });
    this.#send('mark', { streamSid: this.streamSid, mark: { name } });
  }

  /** The next frame is due at a fixed time, so that a late timer delays one frame and not all after it. */
  #arm(): void {
    const dueAt = this.#startedAt + (this.#frames + 1) * CARRIER_FRAME_MS;
    this.#timer = this.#clock.setTimeout(() => this.#tick(), dueAt - this.#clock.now());
  }

  #tick(): void {
    const due = Math.floor((this.nowMs + 1e-6) / CARRIER_FRAME_MS);
    for (; this.#frames < due; this.#frames += 1) this.#frame();
    this.#settleWaiters();
    if (!this.isClosed) this.#arm();
  }

  #frame(): void {
    const startMs = (this.#frames + 1) * CARRIER_FRAME_MS;
    for (const name of this.#playout.play(startMs, CARRIER_FRAME_MS)) this.#echo(name, false);
    if (this.#playout.isPlaying) this.#lastHeardAt = startMs + CARRIER_FRAME_MS;
    const payload = Buffer.from(this.#nextSpeech()).toString('base64');
    if (!this.#sendsMedia) return;
    this.#chunk += 1;
    const timestamp = String(this.#frames * CARRIER_FRAME_MS);
    this.#send('media', {
      streamSid: this.streamSid,
      media: { track: 'inbound', chunk: String(this.#chunk), timestamp, payload },
    });
  }

  #nextSpeech(): Uint8Array {
    const current = this.#speech[0];
    if (current === undefined) return SILENT_FRAME;
    const frame = current.subarray(this.#speechAt, this.#speechAt + FRAME_BYTES);
    this.#speechAt += FRAME_BYTES;
    if (this.#speechAt >= current.byteLength) {
      this.#speech.shift();
      this.#speechAt = 0;
    }
    if (frame.byteLength === FRAME_BYTES) return frame;
    const padded = SILENT_FRAME.slice();
    padded.set(frame);
    return padded;
  }

  #send(event: string, body: object): void {
    this.#sequence += 1;
    const base = { event, sequenceNumber: String(this.#sequence), streamSid: this.streamSid };
    this.#link.send(JSON.stringify({ ...base, ...body }));
  }

  #closed(code: number): void {
    if (this.isClosed) return;
    this.closeCode = code;
    this.#timer?.clear();
    this.#settleWaiters();
  }

  #when(isDue: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      this.#waiters.push({ isDue, resolve });
    });
  }

  /** The end of the call ends every wait: nothing more will happen. */
  #settleWaiters(): void {
    const waiting: Waiter[] = [];
    for (const waiter of this.#waiters) {
      if (this.isClosed || waiter.isDue()) waiter.resolve();
      else waiting.push(waiter);
    }
    this.#waiters = waiting;
  }
}
