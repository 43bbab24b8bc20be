/**
 * The call over a WebSocket, where nothing but TCP gets through: the same messages as text, sound as binary.
 *
 * @module
 */

import { z } from 'zod';
import type { PageCommandInput } from '../../src/leg/page/protocol.ts';
import { ApiError, post } from '../shared/api.ts';
import workletUrl from './pcm-worklet.ts?worker&url';
import type { LineCounters } from './quality.ts';
import { Channel, type Transport, type TransportEvents } from './transport.ts';

/** While so much waits to be sent, the caller's sound is left out: late it is of no use. */
const HIGH_WATER_BYTES = 48_000;
const FRAME_BYTES = 960;

const ticketSchema = z.object({ call: z.string(), socket: z.string() });

export class SocketTransport implements Transport {
  readonly #events: TransportEvents;
  readonly #callId: string | null;
  readonly #audio: AudioContext;
  readonly #channel = new Channel();
  #microphone: MediaStream;
  #source: MediaStreamAudioSourceNode | null = null;
  #capture: AudioWorkletNode | null = null;
  #playout: AudioWorkletNode | null = null;
  #socket: WebSocket | null = null;
  #isClosed = false;

  constructor(audio: AudioContext, microphone: MediaStream, callId: string | null, events: TransportEvents) {
    this.#audio = audio;
    this.#microphone = microphone;
    this.#callId = callId;
    this.#events = events;
  }

  async open(): Promise<void> {
    try {
      await this.#audio.audioWorklet.addModule(workletUrl);
      const path =
        this.#callId === null ? 'page/calls' : `page/calls?call=${encodeURIComponent(this.#callId)}`;
      const { call, socket } = await post(path, { transport: 'socket' }, ticketSchema);
      if (this.#isClosed) return;
      this.#events.answered(call);
      this.#connect(socket);
    } catch (error) {
      if (this.#isClosed) return;
      this.#events.refused(error instanceof ApiError ? error.code : 'CONNECTION_FAILED');
    }
  }

  #connect(path: string): void {
    const url = new URL(path, document.baseURI);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    socket.addEventListener('open', () => this.#onOpen(socket));
    socket.addEventListener('message', ({ data }) => {
      if (this.#isClosed) return;
      if (data instanceof ArrayBuffer) {
        const frame = new Int16Array(data.slice(0, data.byteLength & ~1));
        this.#playout?.port.postMessage(frame, [frame.buffer]);
        return;
      }
      const event = typeof data === 'string' ? this.#channel.read(data) : null;
      if (event) this.#events.told(event);
    });
    socket.addEventListener('close', () => {
      if (!this.#isClosed) this.#events.lost();
    });
  }

  #onOpen(socket: WebSocket): void {
    if (this.#isClosed) return;
    const out = this.#audio.createMediaStreamDestination();
    this.#playout = new AudioWorkletNode(this.#audio, 'playout', {
      numberOfInputs: 0,
      outputChannelCount: [1],
    });
    this.#playout.connect(out);
    this.#capture = new AudioWorkletNode(this.#audio, 'capture', {
      channelCount: 1,
      channelCountMode: 'explicit',
    });
    this.#capture.port.onmessage = ({ data }: MessageEvent<Int16Array<ArrayBuffer>>) => {
      if (socket.readyState === WebSocket.OPEN && socket.bufferedAmount < HIGH_WATER_BYTES) socket.send(data);
    };
    // Its output is silence, and must lead somewhere to be worked on.
    this.#capture.connect(this.#audio.destination);
    this.setMicrophone(this.#microphone);
    this.#events.remote(out.stream);
    this.#greet();
  }

  #greet: () => void = () => {};

  onOpen(greet: () => void): void {
    this.#greet = greet;
  }

  send(command: PageCommandInput): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    for (const part of this.#channel.wire(command)) this.#socket.send(part);
  }

  setMicrophone(stream: MediaStream): void {
    this.#microphone = stream;
    if (!this.#capture) return;
    this.#source?.disconnect();
    this.#source = this.#audio.createMediaStreamSource(stream);
    this.#source.connect(this.#capture);
  }

  async counters(): Promise<LineCounters | null> {
    return null;
  }

  /** Sound that has not left yet, in ms. */
  get backlogMs(): number {
    return ((this.#socket?.bufferedAmount ?? 0) / FRAME_BYTES) * 20;
  }

  hangup(): void {
    this.send({ type: 'hangup' });
    this.#leave(1000);
  }

  /** Not 1000: that would end the call. */
  close(): void {
    this.#leave(4000);
  }

  #leave(code: number): void {
    this.#isClosed = true;
    this.#source?.disconnect();
    this.#capture?.disconnect();
    this.#playout?.disconnect();
    if (this.#capture) this.#capture.port.onmessage = null;
    this.#socket?.close(code);
  }
}
