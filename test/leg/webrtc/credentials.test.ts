import { createHmac } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { webrtcSchema } from '../../../src/config-webrtc.ts';
import { iceServerLinks, pageIceServers, turnCredential } from '../../../src/leg/webrtc/index.ts';

const SECRET = 'a secret of ours';
const NOW = 1_800_000_000_000;
const turn = {
  urls: ['turn:turn.example.com:3478', 'turns:turn.example.com:5349?transport=tcp'],
  secret: SECRET,
};

describe('a TURN credential', () => {
  it('is the one that the REST scheme has', () => {
    // The known answer is OpenSSL's.
    const { username, credential } = turnCredential('north', 1_433_895_918_506, 'call');
    expect(username).toBe('1433895918:call');
    expect(credential).toBe(createHmac('sha1', 'north').update('1433895918:call').digest('base64'));
    expect(credential).toBe('SpSzshQ0Su80crAf6OKW1QbPx5o=');
  });

  it('names nobody when there is nobody to name', () => {
    expect(turnCredential(SECRET, 5999).username).toBe('5');
  });

  it('holds nothing of the secret, and another one for another time or name', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 8 }), fc.nat(2 ** 40), fc.string(), (secret, at, id) => {
        const one = turnCredential(secret, at, id);
        expect(`${one.username}${one.credential}`.includes(secret)).toBe(one.username.includes(secret));
        expect(turnCredential(secret, at + 1000, id).credential).not.toBe(one.credential);
        expect(turnCredential(secret, at, `${id}x`).credential).not.toBe(one.credential);
      }),
    );
  });
});

describe('the servers that a page is given', () => {
  it('are none unless the config names some', () => {
    expect(pageIceServers(webrtcSchema.parse({}), NOW)).toEqual([]);
  });

  it('are STUN and TURN, the latter for an hour', () => {
    const servers = pageIceServers(webrtcSchema.parse({ stun: ['stun:stun.example.com'], turn }), NOW, 'c1');
    expect(servers).toEqual([
      { urls: ['stun:stun.example.com'] },
      { urls: turn.urls, ...turnCredential(SECRET, NOW + 3_600_000, 'c1') },
    ]);
    expect(JSON.stringify(servers)).not.toContain(SECRET);
  });

  it('are no STUN in relay-only mode', () => {
    const config = webrtcSchema.parse({ stun: ['stun:stun.example.com'], turn, relayOnly: true });
    expect(pageIceServers(config, NOW).flatMap(({ urls }) => urls)).toEqual(turn.urls);
  });

  it('can be told to a WHIP client in headers', () => {
    const [stun, first] = iceServerLinks(
      pageIceServers(webrtcSchema.parse({ stun: ['stun:stun.example.com'], turn }), NOW, 'c1'),
    );
    expect(stun).toBe('<stun:stun.example.com>; rel="ice-server"');
    expect(first).toMatch(
      /^<turn:turn\.example\.com:3478>; rel="ice-server"; username="\d+:c1"; credential="[^"]+"; credential-type="password"$/,
    );
  });
});

describe('the config of WebRTC', () => {
  it.each([
    ['TURN without a secret', { turn: { urls: turn.urls } }],
    ['relay-only without TURN', { relayOnly: true }],
    [
      'relay-only with TURN over TCP only',
      { relayOnly: true, turn: { urls: ['turn:a.example?transport=tcp'], secret: SECRET } },
    ],
    ['half a port range', { portRange: { min: 5000 } }],
    ['a port range upside down', { portRange: { min: 5001, max: 5000 } }],
    ['a public address that is a name', { publicAddress: 'voice.example.com' }],
    ['a web address for STUN', { stun: ['https://stun.example.com'] }],
  ])('refuses %s', (_name, config) => {
    expect(webrtcSchema.safeParse(config).success).toBe(false);
  });
});
