/** A caller that is not ours: werift's WebRTC, on loopback, with our Opus for tones and its ears. */

import {
  MediaStreamTrack,
  type RTCDataChannel,
  RTCPeerConnection,
  RtpHeader,
  RtpPacket,
  type MediaStreamTrack as Track,
  useOPUS,
} from 'werift';
import { concatSamples, OpusDecoder, OpusEncoder } from '../../../src/audio/index.ts';

const FRAME = 480;

export interface WeriftOptions {
  /** Uses this server only. */
  readonly turn?: { readonly url: string; readonly username: string; readonly credential: string };
  readonly channel?: boolean;
  readonly direction?: 'sendrecv' | 'sendonly';
  /** Of its encoder. @defaultValue 5 */
  readonly complexity?: number;
}

export class WeriftPeer {
  readonly pc: RTCPeerConnection;
  readonly channel: RTCDataChannel | null;
  readonly messages: string[] = [];
  /** Packets of the agent's, as they came. */
  readonly heard: RtpPacket[] = [];
  onPacket: (packet: RtpPacket) => void = () => {};
  /** What is said, lost on purpose or not. */
  onSent: (payload: Uint8Array) => void = () => {};
  readonly #track: Track;
  readonly #encoder: OpusEncoder;
  #sequence = Math.floor(Math.random() * 30_000);
  #timestamp = Math.floor(Math.random() * 2 ** 31);
  #payloadType = 96;

  constructor(options: WeriftOptions = {}) {
    const { complexity = 5 } = options;
    this.#encoder = new OpusEncoder({
      sampleRate: 24_000,
      bitrate: 32_000,
      complexity,
      fec: true,
      expectedLossPercent: 20,
    });
    this.pc = new RTCPeerConnection({
      iceAdditionalHostAddresses: ['127.0.0.1'],
      iceUseIpv6: false,
      ...(options.turn && {
        iceTransportPolicy: 'relay' as const,
        iceServers: [{ ...options.turn, urls: options.turn.url }],
      }),
      iceFilterCandidatePair: (pair) => pair.localCandidate.host === '127.0.0.1',
      codecs: { audio: [useOPUS()], video: [] },
    });
    this.#track = new MediaStreamTrack({ kind: 'audio' });
    const transceiver = this.pc.addTransceiver(this.#track, { direction: options.direction ?? 'sendrecv' });
    transceiver.onTrack.subscribe((track) => {
      track.onReceiveRtp.subscribe((packet) => {
        this.heard.push(packet);
        this.onPacket(packet);
      });
    });
    this.channel = options.channel ? this.pc.createDataChannel('page') : null;
    this.channel?.onMessage.subscribe((data) => this.messages.push(data.toString()));
  }

  async offer(): Promise<string> {
    await this.pc.setLocalDescription(await this.pc.createOffer());
    return this.pc.localDescription?.sdp ?? '';
  }

  async accept(answer: string): Promise<void> {
    const type = /m=audio \d+ \S+ (\d+)/.exec(answer)?.[1];
    if (type) this.#payloadType = Number(type);
    await this.pc.setRemoteDescription({ type: 'answer', sdp: answer });
  }

  whenConnected(): Promise<void> {
    if (this.pc.connectionState === 'connected') return Promise.resolve();
    return new Promise((resolve) => {
      this.pc.connectionStateChange.subscribe((state) => {
        if (state === 'connected') resolve();
      });
    });
  }

  /** 20 ms of samples at 24 kHz as one packet; `false` loses it on purpose. */
  speak(samples: Int16Array, isSent = true): void {
    const payload = Buffer.from(this.#encoder.encode(samples));
    this.onSent(payload);
    this.#sequence = (this.#sequence + 1) & 0xffff;
    this.#timestamp = (this.#timestamp + FRAME * 2) >>> 0;
    if (!isSent) return;
    const header = new RtpHeader({
      payloadType: this.#payloadType,
      sequenceNumber: this.#sequence,
      timestamp: this.#timestamp,
      ssrc: 1,
      marker: false,
    });
    this.#track.writeRtp(new RtpPacket(header, payload));
  }

  /** What was heard, decoded in the order it came. */
  heardSamples(): Int16Array {
    const decoder = new OpusDecoder(24_000);
    const parts = this.heard
      .filter(({ payload }) => payload.length > 2)
      .map(({ payload }) => decoder.decode(payload));
    decoder.free();
    return concatSamples(parts);
  }

  async close(): Promise<void> {
    this.#encoder.free();
    await this.pc.close();
  }
}
