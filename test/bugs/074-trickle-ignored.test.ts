// Elsewhere: candidates that came by trickle were accepted with a 204 and never used; an offer without any got no call.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { withoutCandidates } from '../leg/webrtc/udp-relay.ts';
import { WeriftPeer } from '../leg/webrtc/werift-peer.ts';
import { openTestPeers, type TestPeers } from './webrtc-line.ts';

let line: TestPeers;
beforeEach(async () => {
  line = await openTestPeers();
});
afterEach(() => line.close());

const candidatesOf = (sdp: string) =>
  [...new Set(sdp.match(/a=candidate:.*/g) ?? [])].filter((each) => each.includes('127.0.0.1'));
const credentialsOf = (sdp: string) => ({
  ufrag: /a=ice-ufrag:(\S+)/.exec(sdp)![1]!,
  pwd: /a=ice-pwd:(\S+)/.exec(sdp)![1]!,
});
const fragment = (ufrag: string, pwd: string, lines: readonly string[]) =>
  [`a=ice-ufrag:${ufrag}`, `a=ice-pwd:${pwd}`, 'm=audio 9 UDP/TLS/RTP/SAVPF 0', 'a=mid:0', ...lines, ''].join(
    '\r\n',
  );

describe('bug 74: an offer without candidates', () => {
  it('connects with those that come by trickle, and only with them', { timeout: 20_000 }, async () => {
    const caller = line.keep(new WeriftPeer());
    const offer = await caller.offer();
    const answer = await line.peers.answer(withoutCandidates(offer));
    // The caller is not told where we are: only what it trickles to us can bring the two together.
    await caller.accept(withoutCandidates(answer.sdp));
    const { ufrag, pwd } = credentialsOf(offer);

    line.peers.addCandidates(answer.id, fragment(ufrag, pwd, candidatesOf(offer)), answer.etag);
    line.peers.addCandidates(answer.id, fragment(ufrag, pwd, ['a=end-of-candidates']));

    expect(await answer.connected).toBe(true);
    expect(await line.hears(caller, answer.leg)).toBe(true);
  });

  it('refuses candidates of another session, and a restart, each with an error of its own', async () => {
    const caller = line.keep(new WeriftPeer());
    const offer = await caller.offer();
    const { id, etag } = await line.peers.answer(offer);
    const { ufrag, pwd } = credentialsOf(offer);
    const add =
      (body: string, tag: string | null = null) =>
      () =>
        line.peers.addCandidates(id, body, tag);

    expect(add(fragment('wrong', pwd, []))).toThrow(expect.objectContaining({ httpStatus: 412 }));
    expect(add(fragment(ufrag, 'wrongwrongwrongwrongwr', []))).toThrow(
      expect.objectContaining({ httpStatus: 412 }),
    );
    expect(add(fragment(ufrag, pwd, []), 'other')).toThrow(expect.objectContaining({ httpStatus: 412 }));
    expect(add(fragment('newone', 'newpasswordnewpassword', []))).toThrow(
      expect.objectContaining({ code: 'WEBRTC_RESTART_UNSUPPORTED', httpStatus: 422 }),
    );
    expect(() => line.peers.addCandidates('0'.repeat(32), fragment(ufrag, pwd, []))).toThrow(
      expect.objectContaining({ code: 'LEG_CLOSED' }),
    );
    expect(add(fragment(ufrag, pwd, ['a=end-of-candidates']), etag)).not.toThrow();
  });

  it('is answered once', async () => {
    const caller = line.keep(new WeriftPeer());
    const offer = await caller.offer();
    await line.peers.answer(offer);
    await expect(line.peers.answer(offer)).rejects.toMatchObject({ code: 'WEBRTC_OFFER_ANSWERED' });
    expect(line.peers.size).toBe(1);
  });
});
