/** A light caller on the native stack, for loads and for what werift can't do: raw packets, no codec of its own. */

import ndc, { type DataChannel, type PeerConnection, type Track } from 'node-datachannel';
import { writeRtp } from '../../../src/leg/webrtc/rtp.ts';

export class NativePeer {
  readonly #pc: PeerConnection;
  readonly #track: Track;
  readonly #channel: DataChannel;
  readonly payloadType = 111;
  readonly ssrc = Math.floor(Math.random() * 2 ** 31) + 1;
  onPacket: (packet: Buffer) => void = () => {};
  #sequence = 0;

  constructor(name = 'caller', bindAddress = '127.0.0.1') {
    this.#pc = new ndc.PeerConnection(name, {
      iceServers: [],
      bindAddress,
      disableAutoNegotiation: true,
    });
    this.#pc.onStateChange(() => {});
    this.#channel = this.#pc.createDataChannel('page');
    this.#channel.onClosed(() => {});
    const audio = new ndc.Audio('voice', 'SendRecv');
    audio.addOpusCodec(this.payloadType);
    audio.addSSRC(this.ssrc, 'caller', 'caller', 'voice');
    this.#track = this.#pc.addTrack(audio);
    this.#track.onClosed(() => {});
    this.#track.onMessage((packet) => this.onPacket(packet));
  }

  offer(): Promise<string> {
    return new Promise((resolve) => {
      this.#pc.onGatheringStateChange((state) => {
        if (state === 'complete') resolve(this.#pc.localDescription()?.sdp ?? '');
      });
      this.#pc.setLocalDescription('offer');
    });
  }

  /** The stack now and then takes no candidates at first, on a machine that is overrun: they are offered again. */
  accept(answer: string): void {
    const candidates = new Set(answer.match(/candidate:.*/g) ?? []);
    this.#pc.setRemoteDescription(answer.replace(/a=(candidate:.*|end-of-candidates)\r?\n/g, ''), 'answer');
    const offerAgain = (left: number) => {
      try {
        for (const candidate of candidates) this.#pc.addRemoteCandidate(candidate, 'voice');
      } catch (error) {
        if (left === 0) throw error;
        setTimeout(() => offerAgain(left - 1), 50);
      }
    };
    offerAgain(20);
  }

  get isOpen(): boolean {
    return this.#track.isOpen();
  }

  /** The next 20 ms. */
  speak(payload: Uint8Array): void {
    const n = this.#sequence++;
    const { payloadType, ssrc } = this;
    const sequence = n & 0xffff;
    if (this.isOpen)
      this.#track.sendMessageBinary(
        writeRtp({ payloadType, marker: n === 0, sequence, timestamp: (n * 960) >>> 0, ssrc, payload }),
      );
  }

  close(): void {
    this.#channel.close();
    this.#track.close();
    this.#pc.close();
  }
}
