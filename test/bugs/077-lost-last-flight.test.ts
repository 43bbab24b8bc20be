// Elsewhere: the last flight of the DTLS handshake was lost once and never sent again: connected, and no sound for ever.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { NativePeer } from '../leg/webrtc/native-peer.ts';
import { isDtls, UdpRelay, withoutCandidates } from '../leg/webrtc/udp-relay.ts';
import { WeriftPeer } from '../leg/webrtc/werift-peer.ts';
import { every20ms, openTestPeers, type TestPeers, until } from './webrtc-line.ts';

let line: TestPeers;
beforeEach(async () => {
  line = await openTestPeers();
});
afterEach(() => line.close());

const CHANGE_CIPHER_SPEC = 20;

/** Loses the flight that begins with a change of ciphers, once, whole. */
function loseLastFlight(relay: UdpRelay, direction: 'in' | 'out'): { lost: number; at: number } {
  const flight = { lost: 0, at: Number.POSITIVE_INFINITY };
  let until = 0;
  relay.manners = ({ bytes, direction: way }) => {
    if (way !== direction || !isDtls(bytes)) return [0];
    const begins = bytes.includes(Buffer.from([CHANGE_CIPHER_SPEC, 0xfe, 0xfd]));
    if (flight.lost === 0 && begins) {
      flight.at = performance.now();
      until = flight.at + 20;
    }
    if (performance.now() > until) return [0];
    flight.lost += 1;
    return [];
  };
  return flight;
}

describe('bug 77: the last flight of a handshake, lost once, is sent again and there is sound within 3 s', () => {
  it.each(['in', 'out'] as const)(
    'where the caller is the server, as with browsers (%s)',
    { timeout: 20_000 },
    async (direction) => {
      const caller = line.keep(new WeriftPeer());
      const relay = line.keep(await UdpRelay.open());
      const answer = await line.peers.answer(withoutCandidates(await caller.offer()));
      const flight = loseLastFlight(relay, direction);
      await caller.accept(relay.inAnswer(answer.sdp));

      expect(await answer.connected).toBe(true);
      expect(performance.now() - flight.at).toBeLessThan(3000);
      expect(flight.lost).toBeGreaterThan(0);
      expect(await line.hears(caller, answer.leg)).toBe(true);
    },
  );

  it('where we are the server', { timeout: 20_000 }, async () => {
    const caller = line.keep(new NativePeer());
    const relay = line.keep(await UdpRelay.open());
    const offer = withoutCandidates(await caller.offer()).replaceAll('a=setup:actpass', 'a=setup:active');
    const answer = await line.peers.answer(offer);
    expect(answer.sdp).toContain('a=setup:passive');
    const flight = loseLastFlight(relay, 'out');
    let frames = 0;
    answer.leg.on('audio', () => {
      frames += 1;
    });
    caller.accept(relay.inAnswer(answer.sdp));

    expect(await until(() => caller.isOpen, 5000)).toBe(true);
    expect(performance.now() - flight.at).toBeLessThan(3000);
    expect(flight.lost).toBeGreaterThan(0);
    const stop = every20ms(() => caller.speak(Uint8Array.of(0xf8, 0xff, 0xfe)));
    expect(await until(() => frames > 10, 3000)).toBe(true);
    stop();
  });
});
