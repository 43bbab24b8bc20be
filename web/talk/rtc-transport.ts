/**
 * The call over WebRTC: an offer by POST, candidates as they are found, a data channel beside the sound.
 *
 * @module
 */

import type { PageCommandInput } from '../../src/leg/page/protocol.ts';
import { ApiError, request } from '../shared/api.ts';
import type { LineCounters } from './quality.ts';
import { type Candidate, sdpFragment } from './sdp-fragment.ts';
import type { PageSession } from './session.ts';
import { Channel, type Transport, type TransportEvents } from './transport.ts';

/** Candidates found within this time go together. */
const TRICKLE_MS = 40;

export class RtcTransport implements Transport {
  readonly #events: TransportEvents;
  readonly #callId: string | null;
  readonly #peer: RTCPeerConnection;
  readonly #data: RTCDataChannel;
  readonly #channel = new Channel();
  readonly #sender: RTCRtpSender;
  readonly #waiting: Candidate[] = [];
  readonly #abort = new AbortController();
  #location: string | null = null;
  #etag: string | null = null;
  #isGathered = false;
  #trickle: number | null = null;
  #isClosed = false;

  constructor(session: PageSession, microphone: MediaStream, callId: string | null, events: TransportEvents) {
    this.#events = events;
    this.#callId = callId;
    this.#peer = new RTCPeerConnection({
      iceServers: session.iceServers.map(({ urls, username, credential }) => ({
        urls,
        ...(username === undefined ? {} : { username }),
        ...(credential === undefined ? {} : { credential }),
      })),
      iceTransportPolicy: session.relayOnly ? 'relay' : 'all',
      bundlePolicy: 'max-bundle',
    });
    const [track] = microphone.getAudioTracks();
    const { sender } = this.#peer.addTransceiver(track ?? 'audio', {
      direction: 'sendrecv',
      streams: [microphone],
    });
    this.#sender = sender;
    this.#data = this.#peer.createDataChannel('nanobot', { ordered: true });
    this.#data.addEventListener('message', ({ data }) => {
      const event = typeof data === 'string' ? this.#channel.read(data) : null;
      if (event && !this.#isClosed) events.told(event);
    });
    this.#data.addEventListener('close', () => this.#lost());
    this.#peer.addEventListener('track', ({ track, streams }) => {
      if (track.kind === 'audio') events.remote(streams[0] ?? new MediaStream([track]));
    });
    this.#peer.addEventListener('icecandidate', ({ candidate }) => {
      if (candidate === null || candidate.candidate === '') this.#isGathered = true;
      else this.#waiting.push({ candidate: candidate.candidate, sdpMid: candidate.sdpMid });
      this.#trickleSoon();
    });
    this.#peer.addEventListener('connectionstatechange', () => this.#onState());
  }

  async open(): Promise<void> {
    try {
      await this.#peer.setLocalDescription();
      const offer = this.#peer.localDescription?.sdp ?? '';
      const path =
        this.#callId === null ? 'page/calls' : `page/calls?call=${encodeURIComponent(this.#callId)}`;
      const response = await request(path, {
        method: 'POST',
        headers: { 'content-type': 'application/sdp' },
        body: offer,
        signal: this.#abort.signal,
      });
      const answer = await response.text();
      this.#location = response.headers.get('location');
      this.#etag = response.headers.get('etag');
      if (this.#isClosed) return;
      this.#events.answered(response.headers.get('call-id') ?? '');
      await this.#peer.setRemoteDescription({ type: 'answer', sdp: answer });
      this.#trickleSoon();
    } catch (error) {
      if (this.#isClosed) return;
      this.#events.refused(error instanceof ApiError ? error.code : 'CONNECTION_FAILED');
    }
  }

  send(command: PageCommandInput): void {
    if (this.#data.readyState !== 'open') return;
    for (const part of this.#channel.wire(command)) this.#data.send(part);
  }

  /** The data channel is there, and can be greeted. */
  onOpen(greet: () => void): void {
    this.#data.addEventListener('open', greet);
  }

  setMicrophone(stream: MediaStream): void {
    const [track] = stream.getAudioTracks();
    void this.#sender.replaceTrack(track ?? null);
  }

  async counters(): Promise<LineCounters | null> {
    if (this.#isClosed) return null;
    let inbound: RTCInboundRtpStreamStats | null = null;
    let roundTripS: number | null = null;
    for (const report of (await this.#peer.getStats()).values()) {
      if (report.type === 'inbound-rtp' && report.kind === 'audio') inbound = report;
      if (report.type === 'candidate-pair' && report.nominated && report.state === 'succeeded')
        roundTripS = report.currentRoundTripTime ?? null;
    }
    if (inbound === null) return null;
    return {
      packetsReceived: inbound.packetsReceived ?? 0,
      packetsLost: inbound.packetsLost ?? 0,
      samplesReceived: inbound.totalSamplesReceived ?? 0,
      concealedSamples: inbound.concealedSamples ?? 0,
      silentConcealedSamples: inbound.silentConcealedSamples ?? 0,
      bufferDelayS: inbound.jitterBufferDelay ?? 0,
      bufferEmitted: inbound.jitterBufferEmittedCount ?? 0,
      roundTripS,
    };
  }

  hangup(): void {
    this.send({ type: 'hangup' });
    if (this.#location !== null)
      void request(this.#location, { method: 'DELETE', keepalive: true }).catch(() => {});
    // What was just said must leave before the channel closes.
    setTimeout(() => this.#peer.close(), 300);
    this.#isClosed = true;
  }

  close(): void {
    this.#isClosed = true;
    this.#abort.abort();
    if (this.#trickle !== null) clearTimeout(this.#trickle);
    this.#peer.close();
  }

  #onState(): void {
    switch (this.#peer.connectionState) {
      case 'connected':
        this.#events.steadied();
        break;
      case 'disconnected':
        this.#events.wobbled();
        break;
      case 'failed':
        this.#lost();
        break;
      default:
    }
  }

  #lost(): void {
    if (!this.#isClosed) this.#events.lost();
  }

  #trickleSoon(): void {
    if (this.#location === null || this.#isClosed) return;
    this.#trickle ??= setTimeout(() => {
      this.#trickle = null;
      void this.#sendCandidates();
    }, TRICKLE_MS);
  }

  async #sendCandidates(): Promise<void> {
    const candidates = this.#waiting.splice(0);
    if (this.#location === null || this.#isClosed || (candidates.length === 0 && !this.#isGathered)) return;
    const body = sdpFragment(this.#peer.localDescription?.sdp ?? '', candidates, this.#isGathered);
    try {
      await request(this.#location, {
        method: 'PATCH',
        headers: {
          'content-type': 'application/trickle-ice-sdpfrag',
          ...(this.#etag === null ? {} : { 'if-match': this.#etag }),
        },
        body,
        signal: this.#abort.signal,
      });
    } catch (error) {
      if (error instanceof ApiError && error.code === 'LEG_CLOSED') this.#lost();
    }
  }
}
