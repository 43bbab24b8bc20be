/**
 * The WebRTC connections of this process: offers answered, candidates taken, all of them closed at the end.
 *
 * @module
 */

import type { Clock } from '../../clock.ts';
import type { WebRtcConfig } from '../../config-webrtc.ts';
import { VoiceError } from '../../errors.ts';
import type { PageLink } from '../page/index.ts';
import { iceServerLinks, type PageIceServer, pageIceServers } from './credentials.ts';
import type { WebRtcLeg } from './leg.ts';

export interface WebRtcPeersOptions {
  readonly config: WebRtcConfig;
  readonly clock: Clock;
  /** Connections at once. @defaultValue `MAX_PEERS` */
  readonly maxPeers?: number;
}

/** Connections at once, calls on hold for their media included. */
export const MAX_PEERS = 1000;

export interface AnswerOptions {
  /** The page's channel; `null`, or left out, for a client that has none. One for each answer: it ends with the leg. */
  readonly link?: PageLink | null;
  /** No packet for this long closes the leg with `no_media`. @defaultValue 30000 */
  readonly noMediaTimeoutMs?: number;
}

export interface WebRtcAnswer {
  /** Of the WHIP session: 32 hex digits, not to be guessed. */
  readonly id: string;
  /** SDP, with all of our candidates. */
  readonly sdp: string;
  /** Of the ICE session, without quotes. */
  readonly etag: string;
  readonly leg: WebRtcLeg;
}

export class WebRtcPeers {
  readonly #config: WebRtcConfig;
  readonly #clock: Clock;

  /** Use `openWebRtcPeers`. */
  constructor(options: WebRtcPeersOptions) {
    this.#config = options.config;
    this.#clock = options.clock;
  }

  get size(): number {
    return 0;
  }

  /**
   * Answers an offer.
   *
   * @throws VoiceError `WEBRTC_OFFER_INVALID`, `WEBRTC_OFFER_ANSWERED`, `WEBRTC_UNAVAILABLE`
   */
  answer(_offer: string, _options: AnswerOptions = {}): Promise<WebRtcAnswer> {
    return Promise.reject(new VoiceError('WEBRTC_UNAVAILABLE', 'Not built yet.'));
  }

  /**
   * Takes the body of a trickle `PATCH` (`application/trickle-ice-sdpfrag`, RFC 8840).
   *
   * @param etag - of `If-Match`, without quotes; `null` when there was none, or `*`
   * @throws VoiceError `LEG_CLOSED`: no such session; `WEBRTC_FRAGMENT_INVALID`, `WEBRTC_SESSION_MISMATCH`,
   *   `WEBRTC_RESTART_UNSUPPORTED`
   */
  addCandidates(_id: string, _fragment: string, _etag: string | null = null): void {}

  /** The client's `DELETE`: its leg closes with `caller_hangup`. Returns false when there is no such session. */
  hangup(_id: string): boolean {
    return false;
  }

  /** For a page's `RTCPeerConnection`; each call makes a new credential. */
  iceServers(id?: string): PageIceServer[] {
    return pageIceServers(this.#config, this.#clock.wallNow(), id);
  }

  /** For the `Link` headers of a WHIP answer. */
  iceServerLinks(id?: string): string[] {
    return iceServerLinks(this.iceServers(id));
  }

  /** Closes every connection; their legs close with `local_hangup`. */
  async close(): Promise<void> {}
}

/** @throws VoiceError `WEBRTC_UNAVAILABLE`: the media stack can't be loaded here */
export async function openWebRtcPeers(options: WebRtcPeersOptions): Promise<WebRtcPeers> {
  return new WebRtcPeers(options);
}
