import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webrtcSchema } from '../../../src/config-webrtc.ts';
import { isVoiceError } from '../../../src/errors.ts';
import { announced, isReachable } from '../../../src/leg/webrtc/addresses.ts';
import { formatCandidate, parseCandidate } from '../../../src/leg/webrtc/candidate.ts';
import { MAX_FRAGMENT_CHARS, parseFragment } from '../../../src/leg/webrtc/fragment.ts';
import {
  formatAnswer,
  MAX_MEDIA_SECTIONS,
  MAX_OFFER_CHARS,
  MAX_REMOTE_CANDIDATES,
  nativeOffer,
  parseOffer,
  readNativeAnswer,
} from '../../../src/leg/webrtc/sdp.ts';

const FINGERPRINT = Array.from({ length: 32 }, (_, n) => (n + 16).toString(16).toUpperCase()).join(':');
const OFFER = [
  'v=0',
  'o=- 4611731400430051336 2 IN IP4 127.0.0.1',
  's=-',
  't=0 0',
  'a=group:BUNDLE voice chat',
  'a=extmap-allow-mixed',
  'm=audio 9 UDP/TLS/RTP/SAVPF 111 63 9 126',
  'c=IN IP4 0.0.0.0',
  'a=candidate:1 1 udp 2122260223 192.0.2.7 50000 typ host generation 0',
  'a=candidate:2 1 udp 2122260222 0f3c2d1e-1111-4222-8333-123456789abc.local 50001 typ host',
  'a=candidate:3 1 tcp 1518280447 192.0.2.7 9 typ host tcptype active',
  'a=ice-ufrag:Ab+/',
  'a=ice-pwd:0123456789abcdefABCDEF+/',
  'a=ice-options:trickle',
  `a=fingerprint:sha-256 ${FINGERPRINT}`,
  'a=setup:actpass',
  'a=mid:voice',
  'a=sendrecv',
  'a=rtcp-mux',
  'a=rtpmap:63 red/48000/2',
  'a=rtpmap:111 opus/48000/2',
  'a=fmtp:111 minptime=10;useinbandfec=1',
  'a=rtpmap:126 telephone-event/8000',
  'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
  'c=IN IP4 0.0.0.0',
  'a=ice-ufrag:Ab+/',
  'a=ice-pwd:0123456789abcdefABCDEF+/',
  `a=fingerprint:sha-256 ${FINGERPRINT}`,
  'a=setup:actpass',
  'a=mid:chat',
  'a=sctp-port:5000',
  'a=max-message-size:262144',
  '',
].join('\r\n');

const without = (line: string) => OFFER.replaceAll(`${line}\r\n`, '');
const replaced = (from: string, to: string) => OFFER.replaceAll(from, to);
const VIDEO = 'm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=mid:eyes\r\na=sendrecv\r\n';
const refusalOf = (sdp: string) => {
  try {
    parseOffer(sdp);
    return null;
  } catch (error) {
    if (!isVoiceError(error, 'WEBRTC_OFFER_INVALID')) throw error;
    return error.message;
  }
};

describe('an offer', () => {
  it('is read into what we need of it', () => {
    expect(parseOffer(OFFER)).toEqual({
      ice: { ufrag: 'Ab+/', pwd: '0123456789abcdefABCDEF+/' },
      fingerprint: { algorithm: 'sha-256', value: FINGERPRINT },
      setup: 'actpass',
      payloadType: 111,
      receives: true,
      sctpPort: 5000,
      // The one with a name and the one over TCP are of no use.
      candidates: [
        { foundation: '1', priority: 2122260223, address: '192.0.2.7', port: 50_000, type: 'host' },
      ],
      sections: [
        { kind: 'audio', mid: 'voice' },
        { kind: 'data', mid: 'chat' },
      ],
    });
  });

  it.each([
    ['no SDP', 'hello'],
    ['of nothing', ''],
    ['too long', OFFER + 'a=x\r\n'.repeat(MAX_OFFER_CHARS)],
    ['without sound', OFFER.replace('m=audio 9', 'm=audio 0')],
    ['with two sounds', OFFER + OFFER.slice(OFFER.indexOf('m=audio'), OFFER.indexOf('m=application'))],
    ['with too many sections', OFFER + VIDEO.repeat(MAX_MEDIA_SECTIONS)],
    ['without Opus', without('a=rtpmap:111 opus/48000/2')],
    ['with Opus of a number that looks like RTCP', replaced('111', '72')],
    ['with Opus of a number out of range', replaced('111', '200')],
    ['with Opus that its section does not list', OFFER.replace('SAVPF 111 63', 'SAVPF 63')],
    ['over plain RTP', replaced('UDP/TLS/RTP/SAVPF', 'RTP/AVP')],
    ['without rtcp-mux', without('a=rtcp-mux')],
    ['that only listens', replaced('a=sendrecv', 'a=recvonly')],
    ['that is off', replaced('a=sendrecv', 'a=inactive')],
    ['without a fingerprint', without(`a=fingerprint:sha-256 ${FINGERPRINT}`)],
    ['with a fingerprint by SHA-1', replaced('sha-256', 'sha-1')],
    ['with a short fingerprint', replaced(FINGERPRINT, FINGERPRINT.slice(3))],
    ['with a fingerprint that is not hex', replaced(FINGERPRINT, FINGERPRINT.replace('10', 'XY'))],
    ['without a user fragment', without('a=ice-ufrag:Ab+/')],
    ['with a short user fragment', replaced('a=ice-ufrag:Ab+/', 'a=ice-ufrag:Ab+')],
    ['with a user fragment of other characters', replaced('a=ice-ufrag:Ab+/', 'a=ice-ufrag:Ab+/ x')],
    [
      'with a user fragment of 300 characters',
      replaced('a=ice-ufrag:Ab+/', `a=ice-ufrag:${'a'.repeat(300)}`),
    ],
    ['with a short password', replaced('0123456789abcdefABCDEF+/', '0123456789abcdefABCDE')],
    [
      'with a password of other characters',
      replaced('0123456789abcdefABCDEF+/', '0123456789abcdefABCDEF\u0000"'),
    ],
    ['with a role that is none', replaced('a=setup:actpass', 'a=setup:holdconn')],
    ['without a mid', without('a=mid:voice')],
    ['with data and no port for it', without('a=sctp-port:5000')],
  ])('%s is refused, and nothing of it is quoted', (_name, sdp) => {
    const message = refusalOf(sdp);
    expect(message).toMatch(/^The offer /);
    expect(message).not.toContain('0123456789');
  });

  it('may leave out the data channel, and may only send', () => {
    const offer = parseOffer(
      OFFER.slice(0, OFFER.indexOf('m=application')).replace('a=sendrecv', 'a=sendonly'),
    );
    expect(offer).toMatchObject({ sctpPort: null, receives: false });
    expect(nativeOffer(offer)).not.toContain('m=application');
  });

  it('has data outside the bundle refused, and video too', () => {
    const offer = parseOffer(`${replaced('BUNDLE voice chat', 'BUNDLE voice')}${VIDEO}`);
    expect(offer.sections.map(({ kind }) => kind)).toEqual(['audio', 'other', 'other']);
  });

  it('reaches the native stack in our own words only', () => {
    const native = nativeOffer(
      parseOffer(replaced('a=extmap-allow-mixed', 'a=evil:\u0001%n').replaceAll('voice', 'v{}')),
    );
    expect(native).not.toMatch(/evil|v\{\}|extmap|candidate/);
    expect(native).toContain('a=ice-ufrag:Ab+/\r\n');
    expect(native).toContain(`a=fingerprint:sha-256 ${FINGERPRINT}\r\n`);
  });

  it('keeps to its bound of candidates', () => {
    const many = Array.from(
      { length: 100 },
      (_, n) => `a=candidate:1 1 udp 1 192.0.2.7 ${1000 + n} typ host`,
    );
    const offer = parseOffer(OFFER.replace('a=ice-options:trickle', many.join('\r\n')));
    expect(offer.candidates).toHaveLength(MAX_REMOTE_CANDIDATES);
  });

  it('broken anywhere is refused or read, never anything else', () => {
    const change = fc.record({
      at: fc.nat(OFFER.length),
      cut: fc.nat(40),
      text: fc.string({ maxLength: 40, unit: 'binary' }),
    });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 4 }), (changes) => {
        const sdp = changes.reduce(
          (text, { at, cut, text: put }) => text.slice(0, at) + put + text.slice(at + cut),
          OFFER,
        );
        if (refusalOf(sdp) !== null) return;
        // What is let through is made of harmless characters, line by line.
        for (const line of nativeOffer(parseOffer(sdp)).split('\r\n'))
          expect(line).toMatch(/^([a-z]=[\x20-\x7e]*)?$/);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('our answer', () => {
  const local = {
    ice: { ufrag: 'wxyz', pwd: 'abcdefghijklmnopqrstuv' },
    fingerprint: `sha-256 ${FINGERPRINT}`,
    setup: 'active',
    ssrc: 42,
    cname: 'agent',
    candidates: [
      { foundation: '1', priority: 5, address: '198.51.100.1', port: 4000, type: 'host' as const },
    ],
  };

  it('has a section for each of the offer, in its order, with its names', () => {
    const answer = formatAnswer(parseOffer(`${OFFER}${VIDEO}`), local);
    expect(answer.match(/^m=.*$/gm)).toEqual([
      'm=audio 9 UDP/TLS/RTP/SAVPF 111',
      'm=application 9 UDP/DTLS/SCTP webrtc-datachannel',
      'm=video 0 UDP/TLS/RTP/SAVPF 96',
    ]);
    expect(answer.match(/^a=mid:.*$/gm)).toEqual(['a=mid:voice', 'a=mid:chat', 'a=mid:eyes']);
    expect(answer).toContain('a=group:BUNDLE voice chat\r\n');
    expect(answer).toContain('a=fmtp:111 minptime=10;useinbandfec=1\r\n');
    expect(answer).toContain('a=candidate:1 1 UDP 5 198.51.100.1 4000 typ host\r\n');
  });

  it('only receives from a peer that only sends', () => {
    const answer = formatAnswer(parseOffer(replaced('a=sendrecv', 'a=sendonly')), local);
    expect(answer).toContain('a=recvonly\r\n');
    expect(answer).not.toContain('a=ssrc');
  });

  it('takes its secrets from what the native stack says of itself', () => {
    const { ice, fingerprint, setup } = local;
    expect(readNativeAnswer(formatAnswer(parseOffer(OFFER), local))).toEqual({ ice, fingerprint, setup });
  });
});

describe('a candidate', () => {
  it.each([
    'candidate:1 1 UDP 2122260223 192.0.2.7 50000 typ host',
    'a=candidate:4 1 udp 1 2001:db8::7 50000 typ srflx raddr 10.0.0.1 rport 7',
  ])('is read: %s', (line) => {
    expect(parseCandidate(line)).not.toBeNull();
  });

  it.each([
    'candidate:1 2 UDP 1 192.0.2.7 50000 typ host',
    'candidate:1 1 TCP 1 192.0.2.7 50000 typ host',
    'candidate:1 1 UDP 1 example.com 50000 typ host',
    'candidate:1 1 UDP 1 192.0.2 50000 typ host',
    'candidate:1 1 UDP 1 192.0.2.7 0 typ host',
    'candidate:1 1 UDP 1 192.0.2.7 65536 typ host',
    'candidate:1 1 UDP 9999999999 192.0.2.7 1 typ host',
    'candidate:1 1 UDP 1 192.0.2.7 1 typ ghost',
    `candidate:1 1 UDP 1 192.0.2.7 1 typ host ${'x'.repeat(500)}`,
  ])('is not used: %s', (line) => {
    expect(parseCandidate(line)).toBeNull();
  });

  it('is written without the address that it relates to', () => {
    const candidate = parseCandidate('candidate:4 1 udp 1 198.51.100.9 5 typ relay raddr 10.0.0.1 rport 7');
    expect(formatCandidate(candidate!)).toBe(
      'candidate:4 1 UDP 1 198.51.100.9 5 typ relay raddr 0.0.0.0 rport 0',
    );
  });
});

describe('what is told and tried', () => {
  const host = parseCandidate('candidate:1 1 udp 9 10.0.0.5 4000 typ host')!;
  const host6 = parseCandidate('candidate:1 1 udp 8 2001:db8::5 4000 typ host')!;
  const reflexive = parseCandidate('candidate:2 1 udp 5 198.51.100.1 4001 typ srflx')!;
  const relay = parseCandidate('candidate:3 1 udp 1 198.51.100.9 5000 typ relay')!;
  const all = [host, host6, reflexive, relay];
  const TURN = { turn: { urls: ['turn:turn.example.com'], secret: 'a secret of ours' } };

  it('is everything, by default', () => {
    expect(announced(all, webrtcSchema.parse({}))).toEqual(all);
  });

  it('is no IPv6 where that is off', () => {
    const config = webrtcSchema.parse({ ipv6: false });
    expect(announced(all, config)).toEqual([host, reflexive, relay]);
    expect([host, host6].map((each) => isReachable(each, config))).toEqual([true, false]);
  });

  it('is the public address in place of those of its family', () => {
    const told = announced(all, webrtcSchema.parse({ publicAddress: '203.0.113.5' }));
    expect(told.map(({ address }) => address)).toEqual([
      '203.0.113.5',
      '2001:db8::5',
      '198.51.100.1',
      '198.51.100.9',
    ]);
  });

  it('is relays only in relay-only mode', () => {
    const config = webrtcSchema.parse({ relayOnly: true, ...TURN });
    expect(announced(all, config)).toEqual([relay]);
    expect(isReachable(parseCandidate('candidate:1 1 udp 9 127.0.0.1 4000 typ host')!, config)).toBe(false);
  });
});

describe('a trickle fragment', () => {
  const BODY =
    'a=ice-ufrag:Ab+/\r\na=ice-pwd:0123456789abcdefABCDEF+/\r\nm=audio 9 RTP/AVP 0\r\na=mid:0\r\na=candidate:1 1 udp 1 192.0.2.7 9000 typ host\r\n';

  it('has credentials and candidates', () => {
    expect(parseFragment(BODY)).toMatchObject({
      ice: { ufrag: 'Ab+/', pwd: '0123456789abcdefABCDEF+/' },
      ended: false,
    });
    expect(parseFragment(BODY).candidates).toHaveLength(1);
  });

  it.each(['a=end-of-candidates', 'a=candidate:'])('ends with %s', (line) => {
    expect(parseFragment(`${BODY}${line}\r\n`).ended).toBe(true);
  });

  it.each([
    ['JSON', '{"candidate":null}'],
    ['too long', 'a=x\r\n'.repeat(MAX_FRAGMENT_CHARS)],
  ])('that is %s is refused', (_name, body) => {
    expect(() => parseFragment(body)).toThrow(expect.objectContaining({ code: 'WEBRTC_FRAGMENT_INVALID' }));
  });
});
