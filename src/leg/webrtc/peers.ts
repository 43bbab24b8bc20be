/**
 * The WebRTC connections of this process: offers answered, candidates taken, all of them closed at the end.
 *
 * @module
 */

import { createHash, randomBytes, randomInt } from 'node:crypto';
import type { RtcConfig } from 'node-datachannel';
import { OpusDecoder, OpusEncoder } from '../../audio/index.ts';
import type { Clock } from '../../clock.ts';
import type { WebRtcConfig } from '../../config-webrtc.ts';
import { isVoiceError, VoiceError } from '../../errors.ts';
import type { PageLink } from '../page/index.ts';
import { announced, isReachable } from './addresses.ts';
import { iceServerLinks, type PageIceServer, pageIceServers, turnCredential } from './credentials.ts';
import { parseFragment } from './fragment.ts';
import { NO_MEDIA_TIMEOUT_MS, WebRtcLeg } from './leg.ts';
import { NativeConnection, type NativeStack } from './native.ts';
import { RelayPort, type TurnAddress, turnAddress } from './relay-port.ts';
import {
  formatAnswer,
  MAX_DATA_MESSAGE_BYTES,
  MAX_REMOTE_CANDIDATES,
  nativeOffer,
  type Offer,
  parseOffer,
  readNativeAnswer,
} from './sdp.ts';

/** Connections at once, those that are not up yet included. */
export const MAX_PEERS = 1000;
/** Offers that are remembered, so that none is answered twice. */
export const MAX_ANSWERED_OFFERS = 4096;
/** An answer waits so long for STUN and TURN servers; then it goes without them. */
export const GATHER_TIMEOUT_MS = 2000;
/** TURN servers that the native stack asks at most. */
const MAX_NATIVE_TURN = 2;

export interface WebRtcPeersOptions {
  readonly config: WebRtcConfig;
  readonly clock: Clock;
  /** Stands in front of each session's id. @defaultValue nothing */
  readonly idPrefix?: string;
  /** Connections at once. @defaultValue `MAX_PEERS` */
  readonly maxPeers?: number;
}

export interface AnswerOptions {
  /** The page's channel; `null`, or left out, for a client that has none. One for each answer: it ends with the leg. */
  readonly link?: PageLink | null;
  /** No packet for this long closes the leg with `no_media`. @defaultValue 30000 */
  readonly noMediaTimeoutMs?: number;
}

export interface WebRtcAnswer {
  /** Of the WHIP session: 32 hex digits, not to be guessed, behind `idPrefix`. */
  readonly id: string;
  /** SDP, with all of our candidates. */
  readonly sdp: string;
  /** Of the ICE session, without quotes. */
  readonly etag: string;
  readonly leg: WebRtcLeg;
  /** Whether the connection came up; always settles, within `CONNECT_TIMEOUT_MS`. */
  readonly connected: Promise<boolean>;
}

interface Peer {
  readonly offer: Offer;
  readonly etag: string;
  readonly connection: NativeConnection;
  readonly relays: readonly RelayPort[];
  leg: WebRtcLeg | null;
  /** Remote candidates that were passed on. */
  candidates: number;
}

/**
 * We check the client's addresses only so long after its offer was answered: it checks ours as soon as it has the answer,
 * while our DTLS, begun before that, was lost for a second or met a client that knew no fingerprint yet.
 */
export const CANDIDATES_AFTER_MS = 100;

export class WebRtcPeers {
  readonly #stack: NativeStack;
  readonly #config: WebRtcConfig;
  readonly #clock: Clock;
  readonly #maxPeers: number;
  readonly #idPrefix: string;
  readonly #peers = new Map<string, Peer>();
  readonly #answered = new Set<string>();
  #opening = 0;
  #closed = false;

  /** Use `openWebRtcPeers`. */
  constructor(stack: NativeStack, options: WebRtcPeersOptions) {
    this.#stack = stack;
    this.#config = options.config;
    this.#clock = options.clock;
    this.#maxPeers = options.maxPeers ?? MAX_PEERS;
    this.#idPrefix = options.idPrefix ?? '';
  }

  /** Connections that are open, or are being opened. */
  get size(): number {
    return this.#peers.size + this.#opening;
  }

  /**
   * Answers an offer.
   *
   * @throws VoiceError `WEBRTC_OFFER_INVALID`, `WEBRTC_OFFER_ANSWERED`, `WEBRTC_UNAVAILABLE`
   */
  async answer(sdp: string, options: AnswerOptions = {}): Promise<WebRtcAnswer> {
    const offer = parseOffer(sdp);
    if (this.#closed) throw new VoiceError('WEBRTC_UNAVAILABLE', 'The gateway is stopping.');
    if (this.size >= this.#maxPeers)
      throw new VoiceError('WEBRTC_UNAVAILABLE', 'There are too many connections from web pages.');
    this.#remember(offer);
    this.#opening += 1;
    try {
      return await this.#open(offer, options);
    } catch (error) {
      if (isVoiceError(error)) throw error;
      throw new VoiceError('WEBRTC_UNAVAILABLE', 'The media stack could not answer the offer.', {
        cause: error,
      });
    } finally {
      this.#opening -= 1;
    }
  }

  /**
   * Takes the body of a trickle `PATCH` (`application/trickle-ice-sdpfrag`, RFC 8840).
   *
   * @param etag - of `If-Match`, without quotes; `null` when there was none, or `*`
   * @throws VoiceError `LEG_CLOSED`: no such session; `WEBRTC_FRAGMENT_INVALID`, `WEBRTC_SESSION_MISMATCH`,
   *   `WEBRTC_RESTART_UNSUPPORTED`
   */
  addCandidates(id: string, fragment: string, etag: string | null = null): void {
    const peer = this.#peers.get(id);
    if (!peer) throw new VoiceError('LEG_CLOSED', 'There is no such connection any more.');
    const { ice, candidates } = parseFragment(fragment);
    const known = peer.offer.ice;
    const isOther = (given: string | undefined, ours: string) => given !== undefined && given !== ours;
    const otherUfrag = isOther(ice.ufrag, known.ufrag);
    const otherPwd = isOther(ice.pwd, known.pwd);
    if (otherUfrag && otherPwd)
      throw new VoiceError(
        'WEBRTC_RESTART_UNSUPPORTED',
        'ICE can not be restarted here: make a new offer that names the call.',
      );
    if (otherUfrag || otherPwd || (etag !== null && etag !== peer.etag))
      throw new VoiceError('WEBRTC_SESSION_MISMATCH', 'The candidates are of another ICE session.');
    for (const candidate of candidates) this.#addCandidate(peer, candidate);
  }

  /** The client's `DELETE`: its leg closes with `caller_hangup`. Returns false when there is no such session. */
  hangup(id: string): boolean {
    const peer = this.#peers.get(id);
    peer?.leg?.callerEnded();
    return peer !== undefined;
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
  async close(): Promise<void> {
    this.#closed = true;
    for (const [id, peer] of [...this.#peers]) {
      await peer.leg?.hangup();
      this.#free(id);
    }
  }

  /** @throws VoiceError `WEBRTC_OFFER_ANSWERED` */
  #remember({ ice, fingerprint }: Offer): void {
    const key = createHash('sha256').update(`${ice.ufrag} ${ice.pwd} ${fingerprint.value}`).digest('base64');
    if (this.#answered.has(key))
      throw new VoiceError('WEBRTC_OFFER_ANSWERED', 'This offer was answered already: make a new one.');
    this.#answered.add(key);
    if (this.#answered.size <= MAX_ANSWERED_OFFERS) return;
    const [oldest] = this.#answered;
    if (oldest !== undefined) this.#answered.delete(oldest);
  }

  async #open(offer: Offer, options: AnswerOptions): Promise<WebRtcAnswer> {
    const id = this.#idPrefix + randomBytes(16).toString('hex');
    const relays = await this.#openRelays();
    let connection: NativeConnection;
    try {
      connection = new NativeConnection(this.#stack, id, this.#rtcConfig(id, relays));
    } catch (error) {
      for (const relay of relays) relay.close();
      throw error;
    }
    const etag = randomBytes(8).toString('hex');
    const peer: Peer = { offer, etag, connection, relays, leg: null, candidates: 0 };
    this.#peers.set(id, peer);
    try {
      await this.#gather(connection, offer);
      if (this.#closed) throw new VoiceError('WEBRTC_UNAVAILABLE', 'The gateway is stopping.');
      const { description, candidates } = connection.local();
      const ssrc = randomInt(1, 2 ** 32);
      const cname = randomBytes(12).toString('base64url');
      const local = {
        ...readNativeAnswer(description),
        ssrc,
        cname,
        candidates: announced(candidates, this.#config),
      };
      const leg = this.#leg(id, peer, { ssrc, cname }, options);
      this.#clock.setTimeout(() => {
        for (const candidate of offer.candidates) this.#addCandidate(peer, candidate);
      }, CANDIDATES_AFTER_MS);
      return { id, etag, sdp: formatAnswer(offer, local), ...leg };
    } catch (error) {
      this.#free(id);
      throw error;
    }
  }

  #leg(
    id: string,
    peer: Peer,
    names: { ssrc: number; cname: string },
    { link, noMediaTimeoutMs }: AnswerOptions,
  ): { leg: WebRtcLeg; connected: Promise<boolean> } {
    const { payloadType, receives } = peer.offer;
    const { promise: connected, resolve: settled } = Promise.withResolvers<boolean>();
    const leg = new WebRtcLeg({
      ...names,
      connection: peer.connection,
      clock: this.#clock,
      link: link ?? null,
      payloadType,
      receives,
      firstSequence: randomInt(0, 2 ** 15),
      firstTimestamp: randomInt(0, 2 ** 32),
      bitrate: this.#config.bitrate,
      complexity: this.#config.complexity,
      noMediaTimeoutMs: noMediaTimeoutMs ?? NO_MEDIA_TIMEOUT_MS,
      settled,
      freed: () => this.#free(id),
    });
    peer.leg = leg;
    return { leg, connected };
  }

  /** Resolves when all of our candidates are known, or time is up. */
  async #gather(connection: NativeConnection, offer: Offer): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = this.#clock.setTimeout(resolve, GATHER_TIMEOUT_MS);
    try {
      connection.answer(nativeOffer(offer), resolve);
    } catch (error) {
      reject(error);
    }
    try {
      await this.#clock.track(promise);
    } finally {
      timer.clear();
    }
  }

  #addCandidate(peer: Peer, candidate: Parameters<NativeConnection['addCandidate']>[0]): void {
    if (peer.candidates >= MAX_REMOTE_CANDIDATES || !isReachable(candidate, this.#config)) return;
    peer.candidates += 1;
    peer.connection.addCandidate(candidate);
  }

  #turnAddresses(): TurnAddress[] {
    return this.#config.turn.urls
      .map(turnAddress)
      .filter((address) => address !== null)
      .slice(0, MAX_NATIVE_TURN);
  }

  async #openRelays(): Promise<RelayPort[]> {
    if (!this.#config.relayOnly) return [];
    const opened = await Promise.allSettled(
      this.#turnAddresses().map((address) => RelayPort.open(address, this.#config.bindAddress)),
    );
    return opened.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  }

  #rtcConfig(id: string, relays: readonly RelayPort[]): RtcConfig {
    const { stun, turn, relayOnly, portRange, bindAddress } = this.#config;
    const credential = turnCredential(turn.secret ?? '', this.#clock.wallNow() + turn.ttlS * 1000, id);
    const servers = relayOnly
      ? relays.map(({ port }) => ({ host: '127.0.0.1', port }))
      : this.#turnAddresses();
    const { min, max } = portRange;
    return {
      iceServers: [
        ...(relayOnly ? [] : stun),
        ...servers.map(({ host, port }) => ({
          hostname: host,
          port,
          username: credential.username,
          password: credential.credential,
          relayType: 'TurnUdp' as const,
        })),
      ],
      iceTransportPolicy: relayOnly ? 'relay' : 'all',
      maxMessageSize: MAX_DATA_MESSAGE_BYTES,
      ...(relayOnly ? { bindAddress: '127.0.0.1' } : bindAddress !== undefined && { bindAddress }),
      ...(!relayOnly &&
        min !== undefined &&
        max !== undefined && { portRangeBegin: min, portRangeEnd: max, enableIceUdpMux: min === max }),
    };
  }

  #free(id: string): void {
    const peer = this.#peers.get(id);
    if (!peer) return;
    this.#peers.delete(id);
    peer.connection.close();
    for (const relay of peer.relays) relay.close();
  }
}

/** @throws VoiceError `WEBRTC_UNAVAILABLE`: the media stack can't be loaded here */
export async function openWebRtcPeers(options: WebRtcPeersOptions): Promise<WebRtcPeers> {
  let stack: NativeStack;
  try {
    stack = await import('node-datachannel');
  } catch (error) {
    throw new VoiceError(
      'WEBRTC_UNAVAILABLE',
      'The media stack for web pages can not be loaded on this platform.',
      {
        cause: error,
      },
    );
  }
  return new WebRtcPeers(stack, options);
}

/** Compiles the codec and lets it run (about 0.1 s), so that the first caller does not wait for that. */
export function warmUpOpus(): void {
  const encoder = new OpusEncoder({ sampleRate: 24_000, fec: true });
  const decoder = new OpusDecoder(24_000);
  const noise = Int16Array.from({ length: 480 }, (_, n) => ((n * 7919) % 2001) - 1000);
  for (let n = 0; n < 50; n += 1) decoder.decode(encoder.encode(noise));
  encoder.free();
  decoder.free();
}
