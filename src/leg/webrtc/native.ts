/**
 * One connection of the native stack (libdatachannel). What it hands out is garbage-collected when nobody holds it, and
 * falls silent then without a word: the connection, its track and its channel are held here until they are closed.
 *
 * @module
 */

import type { DataChannel, PeerConnection, RtcConfig, Track } from 'node-datachannel';
import type { PageTransport } from '../page/index.ts';
import { type Candidate, formatCandidate, parseCandidate } from './candidate.ts';
import { AUDIO_MID } from './sdp.ts';

export type NativeStack = typeof import('node-datachannel');

/** Packets of SCTP stay under what an IPv6 tunnel (1,280 bytes) lets through with room for its own headers. */
const MTU = 1200;

export interface ConnectionSink {
  connected(): void;
  /** It may come back by itself. */
  disconnected(): void;
  /** It is over: closed by the peer, or failed. */
  gone(): void;
  /** One packet, RTP or RTCP. */
  packet(bytes: Uint8Array): void;
  channelOpen(transport: PageTransport): void;
  message(text: string): void;
}

/**
 * Connections whose end the native stack has not reported yet. It must be able to: each of its objects lets go of the
 * event loop only when its `closed` was delivered to a listener, and a process with one that did not never exits. (The
 * stack's own `cleanup()` would end that, and ends the process with it when a channel has been closed before.)
 */
const closing = new Set<NativeConnection>();

/** What a leg needs of a connection. */
export interface MediaConnection {
  /** Sets the one who is told, in place of the one before. */
  listen(sink: ConnectionSink | null): void;
  /** Sends a packet, RTP or RTCP; drops it while the connection is not up. */
  send(packet: Buffer): void;
  /** Idempotent; the sink is told nothing any more. */
  close(): void;
}

export interface Gathered {
  readonly description: string;
  readonly candidates: readonly Candidate[];
}

export class NativeConnection implements MediaConnection {
  readonly #peer: PeerConnection;
  #track: Track | null = null;
  #channel: DataChannel | null = null;
  #sink: ConnectionSink | null = null;
  #onGathered: (() => void) | null = null;
  #isClosed = false;

  /** @throws Error of the native stack */
  constructor(stack: NativeStack, name: string, config: RtcConfig) {
    this.#peer = new stack.PeerConnection(name, { ...config, mtu: MTU, disableAutoNegotiation: true });
    this.#peer.onGatheringStateChange((state) => {
      if (state === 'complete') this.#onGathered?.();
    });
    this.#peer.onStateChange((state) => this.#onState(state));
    this.#peer.onTrack((track) => this.#onTrack(track));
    this.#peer.onDataChannel((channel) => this.#onChannel(channel));
  }

  listen(sink: ConnectionSink | null): void {
    this.#sink = sink;
  }

  /**
   * Takes a checked offer and calls back when all of our candidates are known.
   *
   * @throws Error of the native stack
   */
  answer(offer: string, gathered: () => void): void {
    this.#onGathered = () => {
      this.#onGathered = null;
      gathered();
    };
    this.#peer.setRemoteDescription(offer, 'offer');
    this.#peer.setLocalDescription('answer');
  }

  /** What is known of our side now. */
  local(): Gathered {
    const description = this.#peer.localDescription()?.sdp ?? '';
    // Of each candidate by itself the stack may tell only after it told of the last: the description has them all then.
    const lines = new Set(description.match(/^a=candidate:.*$/gm) ?? []);
    const candidates = [...lines].map(parseCandidate).filter((each) => each !== null);
    return { description, candidates };
  }

  addCandidate(candidate: Candidate): void {
    if (this.#isClosed) return;
    try {
      this.#peer.addRemoteCandidate(formatCandidate(candidate), AUDIO_MID);
    } catch {
      // One address that does not work is no reason to give up the others.
    }
  }

  send(packet: Buffer): void {
    const track = this.#track;
    if (this.#isClosed || !track?.isOpen()) return;
    try {
      track.sendMessageBinary(packet);
    } catch {
      // The state change that explains it is on its way.
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#sink = null;
    this.#onGathered = null;
    closing.add(this);
    this.#channel?.close();
    this.#track?.close();
    this.#peer.close();
  }

  #onState(state: string): void {
    switch (state) {
      case 'connected':
        this.#sink?.connected();
        break;
      case 'disconnected':
        this.#sink?.disconnected();
        break;
      case 'failed':
      case 'closed':
        if (state === 'closed') closing.delete(this);
        this.#sink?.gone();
        break;
    }
  }

  #onTrack(track: Track): void {
    track.onClosed(() => {});
    if (this.#track || this.#isClosed) {
      track.close();
      return;
    }
    this.#track = track;
    track.onMessage((bytes) => this.#sink?.packet(bytes));
    // Sound can go as soon as there are keys; the stack calls itself connected only when the data channel is up as well.
    track.onOpen(() => this.#sink?.connected());
  }

  /** The first channel counts; a page has no use for a second one. */
  #onChannel(channel: DataChannel): void {
    channel.onClosed(() => {});
    if (this.#channel || this.#isClosed) {
      channel.close();
      return;
    }
    this.#channel = channel;
    const isOpen = () => !this.#isClosed && channel.isOpen();
    const transport: PageTransport = {
      get bufferedAmount() {
        return isOpen() ? channel.bufferedAmount() : 0;
      },
      get isOpen() {
        return isOpen();
      },
      send: (text) => {
        channel.sendMessage(text);
      },
    };
    const opened = () => this.#sink?.channelOpen(transport);
    channel.onMessage((message) => {
      if (typeof message === 'string') this.#sink?.message(message);
    });
    if (channel.isOpen()) opened();
    else channel.onOpen(opened);
  }
}
