/**
 * Session descriptions (RFC 8866, with JSEP's rules): an offer is read into what we need of it and nothing more. What
 * the native stack gets is written anew from checked values, because some of what a stranger could write there ends the
 * process; the answer is ours, too.
 *
 * @module
 */

import { VoiceError } from '../../errors.ts';
import { type Candidate, formatCandidate, parseCandidate } from './candidate.ts';

/** Longest offer, in characters. A browser's, with sound and pictures, has about 8,000. */
export const MAX_OFFER_CHARS = 32_768;
export const MAX_MEDIA_SECTIONS = 8;
/** Candidates of one side, in the offer and by trickle together; the rest is left out. */
export const MAX_REMOTE_CANDIDATES = 32;

/** RFC 8839, section 5.4: what ICE's names and passwords are made of. */
const UFRAG = /^[A-Za-z0-9+/]{4,256}$/;
const PWD = /^[A-Za-z0-9+/]{22,256}$/;
const TOKEN = /^[A-Za-z0-9!#$%&'*+.^_`{|}~-]{1,64}$/;
const FINGERPRINT_BYTES: Record<string, number> = { 'sha-256': 32, 'sha-384': 48, 'sha-512': 64 };

export interface IceCredentials {
  readonly ufrag: string;
  readonly pwd: string;
}

export type DtlsSetup = 'actpass' | 'active' | 'passive';

export type OfferSection =
  | { readonly kind: 'audio'; readonly mid: string }
  | { readonly kind: 'data'; readonly mid: string }
  /** Refused in the answer. */
  | {
      readonly kind: 'other';
      readonly media: string;
      readonly proto: string;
      readonly format: string;
      readonly mid: string | null;
    };

export interface Offer {
  readonly ice: IceCredentials;
  readonly fingerprint: { readonly algorithm: string; readonly value: string };
  readonly setup: DtlsSetup;
  /** The number of Opus. */
  readonly payloadType: number;
  /** Whether the peer wants to hear us, too. */
  readonly receives: boolean;
  readonly sctpPort: number | null;
  readonly candidates: readonly Candidate[];
  /** In the offer's order. */
  readonly sections: readonly OfferSection[];
}

interface Section {
  readonly media: string;
  readonly port: string;
  readonly proto: string;
  readonly formats: readonly string[];
  readonly attributes: Attributes;
}

class Attributes {
  readonly #all: (readonly [string, string])[] = [];

  add(line: string): void {
    const colon = line.indexOf(':');
    this.#all.push(colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1)]);
  }

  get(name: string): string | undefined {
    return this.#all.find(([key]) => key === name)?.[1];
  }

  all(name: string): string[] {
    return this.#all.filter(([key]) => key === name).map(([, value]) => value);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }
}

function invalid(what: string): VoiceError {
  // Nothing of the offer is quoted: it holds addresses and a password.
  return new VoiceError('WEBRTC_OFFER_INVALID', `The offer ${what}.`);
}

/** @throws VoiceError `WEBRTC_OFFER_INVALID` */
export function parseOffer(sdp: string): Offer {
  if (sdp.length > MAX_OFFER_CHARS) throw invalid(`is longer than ${MAX_OFFER_CHARS} characters`);
  const { session, sections } = readSections(sdp);
  const groups = session.all('group').filter((group) => group.startsWith('BUNDLE '));
  const bundled = new Set(groups[0]?.split(' ').slice(1) ?? []);
  const audio = sections.filter(({ media, port }) => media === 'audio' && port !== '0');
  const [voice] = audio;
  if (!voice || audio.length > 1) throw invalid('has not exactly one audio section');
  if (!/^UDP\/TLS\/RTP\/SAVPF?$/.test(voice.proto))
    throw invalid('has audio over another transport than DTLS-SRTP');
  const { attributes } = voice;
  if (!attributes.has('rtcp-mux')) throw invalid('does not put RTP and RTCP on one port (rtcp-mux)');
  const direction = ['sendrecv', 'sendonly', 'recvonly', 'inactive'].find((each) => attributes.has(each));
  if (direction === 'recvonly' || direction === 'inactive') throw invalid('sends no audio');
  const voiceMid = midOf(voice);
  if (voiceMid === null) throw invalid('has an audio section without a mid');
  const data = sections.find(
    (each) => isData(each) && bundled.has(midOf(each) ?? '') && bundled.has(voiceMid),
  );
  const sctpPort = data ? Number(data.attributes.get('sctp-port')) : null;
  if (sctpPort !== null && !isPort(sctpPort)) throw invalid('has a data section without an SCTP port');
  return {
    ice: credentialsOf(attributes, session),
    fingerprint: fingerprintOf(attributes, session),
    setup: setupOf(attributes, session),
    payloadType: opusOf(voice),
    receives: direction !== 'sendonly',
    sctpPort,
    candidates: readCandidates(attributes.all('candidate').map((each) => `candidate:${each}`)),
    sections: sections.map((section) => sectionOf(section, voice, data)),
  };
}

function readSections(sdp: string): { session: Attributes; sections: Section[] } {
  const lines = sdp.split(/\r?\n/);
  if (lines[0] !== 'v=0') throw invalid('is not SDP');
  const session = new Attributes();
  const sections: Section[] = [];
  let attributes = session;
  for (const line of lines) {
    if (line.startsWith('m=')) {
      if (sections.length >= MAX_MEDIA_SECTIONS)
        throw invalid(`has more than ${MAX_MEDIA_SECTIONS} sections`);
      const [media = '', port = '', proto = '', ...formats] = line.slice(2).split(' ');
      if (!TOKEN.test(media) || !/^\d{1,5}$/.test(port) || !/^[A-Za-z0-9/-]{1,32}$/.test(proto))
        throw invalid('has a section that is not SDP');
      if (formats.length === 0 || formats.length > 128 || !formats.every((each) => TOKEN.test(each)))
        throw invalid('has a section that is not SDP');
      attributes = new Attributes();
      sections.push({ media, port, proto, formats, attributes });
    } else if (line.startsWith('a=')) attributes.add(line.slice(2));
  }
  return { session, sections };
}

function isData({ media, port, proto, formats }: Section): boolean {
  const isSctp = proto === 'UDP/DTLS/SCTP' || proto === 'DTLS/SCTP';
  return media === 'application' && port !== '0' && isSctp && formats[0] === 'webrtc-datachannel';
}

function midOf({ attributes }: Section): string | null {
  const mid = attributes.get('mid');
  return mid !== undefined && TOKEN.test(mid) ? mid : null;
}

function sectionOf(section: Section, voice: Section, data: Section | undefined): OfferSection {
  const mid = midOf(section);
  if (section === voice && mid !== null) return { kind: 'audio', mid };
  if (section === data && mid !== null) return { kind: 'data', mid };
  const { media, proto, formats } = section;
  return { kind: 'other', media, proto, format: formats[0] ?? '0', mid };
}

function credentialsOf(media: Attributes, session: Attributes): IceCredentials {
  const ice = readCredentials(media) ?? readCredentials(session);
  if (!ice) throw invalid('has no ICE credentials, or some that ICE does not allow');
  return ice;
}

function readCredentials(attributes: Attributes): IceCredentials | null {
  const ufrag = attributes.get('ice-ufrag');
  const pwd = attributes.get('ice-pwd');
  return ufrag && pwd && UFRAG.test(ufrag) && PWD.test(pwd) ? { ufrag, pwd } : null;
}

function fingerprintOf(media: Attributes, session: Attributes): Offer['fingerprint'] {
  const own = media.all('fingerprint');
  for (const line of own.length > 0 ? own : session.all('fingerprint')) {
    const [name = '', value = ''] = line.split(' ');
    const algorithm = name.toLowerCase();
    const bytes = FINGERPRINT_BYTES[algorithm];
    const isHex = /^[0-9A-F]{2}(:[0-9A-F]{2})*$/i.test(value);
    if (bytes !== undefined && isHex && value.length === bytes * 3 - 1)
      return { algorithm, value: value.toUpperCase() };
  }
  throw invalid('has no certificate fingerprint by SHA-256, SHA-384 or SHA-512');
}

function setupOf(media: Attributes, session: Attributes): DtlsSetup {
  const setup = media.get('setup') ?? session.get('setup') ?? 'actpass';
  if (setup === 'actpass' || setup === 'active' || setup === 'passive') return setup;
  throw invalid('has a DTLS role that it can not have');
}

function opusOf({ formats, attributes }: Section): number {
  for (const line of attributes.all('rtpmap')) {
    const match = /^(\d{1,3}) opus\/48000\/2$/i.exec(line);
    const number = Number(match?.[1]);
    // 64 to 95 can't be told from RTCP on one port (RFC 5761, section 4).
    if (match && formats.includes(String(number)) && number <= 127 && (number < 64 || number > 95))
      return number;
  }
  throw invalid('has no Opus at 48 kHz');
}

function isPort(value: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= 65_535;
}

/** Those that can be used, each once. */
export function readCandidates(lines: readonly string[]): Candidate[] {
  const found = new Map<string, Candidate>();
  for (const line of lines) {
    const candidate = parseCandidate(line);
    if (candidate && found.size < MAX_REMOTE_CANDIDATES)
      found.set(`${candidate.address}:${candidate.port}`, candidate);
  }
  return [...found.values()];
}

/** Our own names for the sections, inside this process. */
export const AUDIO_MID = 'a';
export const DATA_MID = 'd';

/** The offer as the native stack gets it: checked values in our words, without candidates. */
export function nativeOffer({ ice, fingerprint, setup, payloadType, receives, sctpPort }: Offer): string {
  const transport = [
    'c=IN IP4 0.0.0.0',
    `a=ice-ufrag:${ice.ufrag}`,
    `a=ice-pwd:${ice.pwd}`,
    'a=ice-options:trickle',
    `a=fingerprint:${fingerprint.algorithm} ${fingerprint.value}`,
    `a=setup:${setup}`,
  ];
  const lines = [
    'v=0',
    'o=- 1 0 IN IP4 127.0.0.1',
    's=-',
    't=0 0',
    `a=group:BUNDLE ${AUDIO_MID}${sctpPort === null ? '' : ` ${DATA_MID}`}`,
    `m=audio 9 UDP/TLS/RTP/SAVPF ${payloadType}`,
    ...transport,
    `a=mid:${AUDIO_MID}`,
    receives ? 'a=sendrecv' : 'a=sendonly',
    'a=rtcp-mux',
    `a=rtpmap:${payloadType} opus/48000/2`,
  ];
  if (sctpPort !== null)
    lines.push(
      'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
      ...transport,
      `a=mid:${DATA_MID}`,
      `a=sctp-port:${sctpPort}`,
    );
  return `${lines.join('\r\n')}\r\n`;
}

/** What is ours in an answer. */
export interface LocalSide {
  readonly ice: IceCredentials;
  /** As in `a=fingerprint:`. */
  readonly fingerprint: string;
  readonly setup: string;
  readonly ssrc: number;
  readonly cname: string;
  readonly candidates: readonly Candidate[];
}

/** What the native stack decided, out of its own description. */
export function readNativeAnswer(sdp: string): Pick<LocalSide, 'ice' | 'fingerprint' | 'setup'> {
  const { session, sections } = readSections(sdp);
  const media = sections[0]?.attributes ?? session;
  return {
    ice: credentialsOf(media, session),
    fingerprint: media.get('fingerprint') ?? session.get('fingerprint') ?? '',
    setup: media.get('setup') ?? session.get('setup') ?? 'active',
  };
}

/** Longest messages of a page that we take, as the data channel is told. */
export const MAX_DATA_MESSAGE_BYTES = 16_384;

export function formatAnswer(offer: Offer, local: LocalSide): string {
  const { payloadType, receives, sections } = offer;
  const bundle = sections.flatMap((section) => (section.kind === 'other' ? [] : [section.mid]));
  const transport = [
    'c=IN IP4 0.0.0.0',
    `a=ice-ufrag:${local.ice.ufrag}`,
    `a=ice-pwd:${local.ice.pwd}`,
    'a=ice-options:trickle',
    `a=fingerprint:${local.fingerprint}`,
    `a=setup:${local.setup}`,
    ...local.candidates.map((candidate) => `a=${formatCandidate(candidate)}`),
    'a=end-of-candidates',
  ];
  const lines = [
    'v=0',
    `o=- ${local.ssrc} 1 IN IP4 127.0.0.1`,
    's=-',
    't=0 0',
    `a=group:BUNDLE ${bundle.join(' ')}`,
    'a=msid-semantic: WMS agent',
  ];
  for (const section of sections) {
    switch (section.kind) {
      case 'audio':
        lines.push(
          `m=audio 9 UDP/TLS/RTP/SAVPF ${payloadType}`,
          ...transport,
          'a=rtcp:9 IN IP4 0.0.0.0',
          `a=mid:${section.mid}`,
          receives ? 'a=sendrecv' : 'a=recvonly',
          'a=rtcp-mux',
          `a=rtpmap:${payloadType} opus/48000/2`,
          `a=fmtp:${payloadType} minptime=10;useinbandfec=1`,
          'a=ptime:20',
        );
        if (receives)
          lines.push(
            'a=msid:agent voice',
            `a=ssrc:${local.ssrc} cname:${local.cname}`,
            `a=ssrc:${local.ssrc} msid:agent voice`,
          );
        break;
      case 'data':
        lines.push(
          'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
          ...transport,
          `a=mid:${section.mid}`,
          'a=sctp-port:5000',
          `a=max-message-size:${MAX_DATA_MESSAGE_BYTES}`,
        );
        break;
      case 'other':
        lines.push(`m=${section.media} 0 ${section.proto} ${section.format}`, 'c=IN IP4 0.0.0.0');
        if (section.mid !== null) lines.push(`a=mid:${section.mid}`);
        lines.push('a=inactive');
        break;
      default:
        section satisfies never;
    }
  }
  return `${lines.join('\r\n')}\r\n`;
}
