import { afterEach, describe, expect, it } from 'vitest';
import { CallDesk } from '../../../src/call/index.ts';
import { VoiceError } from '../../../src/errors.ts';
import { sine } from '../../audio/signals.ts';
import { every20ms } from '../../bugs/webrtc-line.ts';
import { withoutCandidates } from '../../leg/webrtc/udp-relay.ts';
import { WeriftPeer } from '../../leg/webrtc/werift-peer.ts';
import { closePageRigs, errorOf, PageDouble, type PageRig, pageRig, until } from './rig.ts';

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
  await closePageRigs();
});

function caller(options: ConstructorParameters<typeof WeriftPeer>[0] = {}): WeriftPeer {
  const peer = new WeriftPeer(options);
  open.push(peer);
  return peer;
}

async function place(rig: PageRig, peer: WeriftPeer, headers: Record<string, string>, callId?: string) {
  const offer = await peer.offer();
  const path = callId === undefined ? '/page/calls' : `/page/calls?call=${callId}`;
  const answer = await rig.post(path, offer, { ...headers, 'content-type': 'application/sdp' });
  const sdp = await answer.text();
  return {
    offer,
    answer,
    sdp,
    location: answer.headers.get('location') ?? '',
    etag: answer.headers.get('etag') ?? '',
    callId: answer.headers.get('call-id') ?? '',
  };
}

const send = (rig: PageRig, method: string, path: string, headers: Record<string, string>, body?: string) =>
  fetch(`${rig.url}${path}`, { method, headers, ...(body === undefined ? {} : { body }) });

const fragment = (ufrag: string, pwd: string, lines: readonly string[] = []) =>
  [`a=ice-ufrag:${ufrag}`, `a=ice-pwd:${pwd}`, 'm=audio 9 UDP/TLS/RTP/SAVPF 0', 'a=mid:0', ...lines, ''].join(
    '\r\n',
  );
const credentials = (sdp: string) => ({
  ufrag: /a=ice-ufrag:(\S+)/.exec(sdp)?.[1] ?? '',
  pwd: /a=ice-pwd:(\S+)/.exec(sdp)?.[1] ?? '',
});

describe('a call by WHIP', { timeout: 30_000 }, () => {
  it('is answered as the standard says, heard, and hung up by DELETE; a Bearer is enough', async () => {
    const rig = await pageRig({
      config: { webrtc: { stun: ['stun:127.0.0.1:9'] } },
    });
    const bearer = { authorization: `Bearer ${await rig.code()}` };
    const peer = caller();

    const { answer, sdp, location, etag, callId } = await place(rig, peer, bearer);

    expect(answer.status).toBe(201);
    expect(answer.headers.get('content-type')).toBe('application/sdp');
    expect(location).toMatch(/^\/page\/calls\/[0-9a-f]{32}$/);
    expect(etag).toMatch(/^"[^"]+"$/);
    expect(answer.headers.get('link')).toBe('<stun:127.0.0.1:9>; rel="ice-server"');
    await peer.accept(sdp);
    await peer.whenConnected();
    const tone = sine(440, 24_000, 1);
    const stop = every20ms((n) => peer.speak(tone.slice((n % 50) * 480, ((n % 50) + 1) * 480)));
    await until('it is heard', () => rig.model.session.inputMs > 200);
    await until('the greeting came', () => peer.heard.length > 5);
    stop();
    expect(rig.desk.call(callId)?.isAttached).toBe(true);

    expect((await send(rig, 'DELETE', location, bearer)).status).toBe(200);

    await until('the call ended', () => rig.desk.activeCalls === 0);
    expect(await rig.store.getCall(callId)).toMatchObject({
      endReason: 'caller_hangup',
      identityStrength: 'none',
    });
    expect(await errorOf(await send(rig, 'DELETE', location, bearer))).toEqual({
      status: 410,
      code: 'LEG_CLOSED',
    });
    expect(rig.model.violations).toEqual([]);
  });

  it('takes candidates of its own ICE session by PATCH, and answers a restart with 422', async () => {
    const rig = await pageRig();
    const owner = await rig.owner();
    const peer = caller();
    const offer = await peer.offer();
    const answer = await rig.post('/page/calls', withoutCandidates(offer), {
      ...owner,
      'content-type': 'application/sdp',
    });
    const location = answer.headers.get('location') ?? '';
    const etag = answer.headers.get('etag') ?? '';
    await peer.accept(withoutCandidates(await answer.text()));
    const { ufrag, pwd } = credentials(offer);
    const candidates = [...new Set(offer.match(/a=candidate:.*/g) ?? [])];
    const patch = (body: string, more: Record<string, string> = {}) =>
      send(
        rig,
        'PATCH',
        location,
        { ...owner, 'content-type': 'application/trickle-ice-sdpfrag', ...more },
        body,
      );

    expect((await patch(fragment('wrong', pwd))).status).toBe(412);
    expect((await patch(fragment(ufrag, pwd), { 'if-match': '"other"' })).status).toBe(412);
    expect(await errorOf(await patch(fragment('another', 'anotherpasswordanother1')))).toEqual({
      status: 422,
      code: 'WEBRTC_RESTART_UNSUPPORTED',
    });
    expect((await patch('hello')).status).toBe(400);
    expect((await patch('{}', { 'content-type': 'application/json' })).status).toBe(415);
    const guest = await rig.guest();
    expect((await patch(fragment(ufrag, pwd, candidates), { cookie: guest.cookie ?? '' })).status).toBe(410);
    expect((await patch(fragment(ufrag, pwd, candidates), { 'if-match': etag })).status).toBe(204);
    expect((await patch(fragment(ufrag, pwd, ['a=end-of-candidates']), { 'if-match': '*' })).status).toBe(
      204,
    );

    await peer.whenConnected();
  });

  it('says by OPTIONS what it takes, and opens itself to no other site', async () => {
    const rig = await pageRig({ peers: false });
    const post = await send(rig, 'OPTIONS', '/page/calls', {});
    expect([post.status, post.headers.get('accept-post')]).toEqual([204, 'application/sdp']);
    const patch = await send(rig, 'OPTIONS', `/page/calls/${'0'.repeat(32)}`, {});
    expect(patch.headers.get('accept-patch')).toBe('application/trickle-ice-sdpfrag');
    expect(patch.headers.get('access-control-allow-origin')).toBeNull();
  });

  it('refuses what is no offer before any model is asked, and the same offer a second time', async () => {
    const rig = await pageRig();
    const owner = { ...(await rig.owner()), 'content-type': 'application/sdp' };
    expect(await errorOf(await rig.post('/page/calls', 'v=0', owner))).toEqual({
      status: 400,
      code: 'WEBRTC_OFFER_INVALID',
    });
    expect(rig.model.sessions).toEqual([]);
    const offer = await caller().offer();
    expect((await rig.post('/page/calls', offer, owner)).status).toBe(201);
    expect(await errorOf(await rig.post('/page/calls', offer, owner))).toEqual({
      status: 409,
      code: 'WEBRTC_OFFER_ANSWERED',
    });
    expect(rig.desk.activeCalls).toBe(1);
  });

  it('frees the connection of a call that is not taken', async () => {
    const rig = await pageRig();
    rig.desk.admit = () => Promise.reject(new VoiceError('MODEL_UNAVAILABLE', 'The model does not answer.'));

    const { answer } = await place(rig, caller(), await rig.owner());

    expect(answer.status).toBe(503);
    await until('it is free', () => rig.peers?.size === 0);
    rig.desk.admit = CallDesk.prototype.admit;
  });

  it('says that there is no WebRTC where there is none, and takes the call by the WebSocket', async () => {
    const rig = await pageRig({ peers: false });
    const owner = await rig.owner();
    const { answer } = await place(rig, caller(), owner);
    expect(answer.status).toBe(503);
    expect(await (await rig.get('/page/session', owner)).json()).toMatchObject({
      webrtc: false,
      socket: true,
    });
    const page = await rig.call(owner);
    await page.greeted();
  });

  it('speaks the page protocol over its data channel, and comes back by WebSocket as the same call', async () => {
    const rig = await pageRig();
    const owner = await rig.owner();
    const peer = caller({ channel: true });
    const { sdp, callId } = await place(rig, peer, owner);
    await peer.accept(sdp);
    await peer.whenConnected();
    const tone = sine(440, 24_000, 1);
    const stop = every20ms((n) => peer.speak(tone.slice((n % 50) * 480, ((n % 50) + 1) * 480)));
    await until('the channel is open', () => peer.channel?.readyState === 'open');
    peer.channel?.send(JSON.stringify({ type: 'hello', v: 1 }));
    await until('it is welcomed', () => peer.messages.some((each) => each.includes('"welcome"')));
    expect(JSON.parse(peer.messages[0] ?? '')).toMatchObject({
      type: 'welcome',
      callId,
      role: 'owner',
      transport: 'webrtc',
      resumed: false,
    });
    await until('quality is told', () => peer.messages.some((each) => each.includes('"quality"')));

    const back = await rig.call(owner, { callId });

    stop();
    expect(back).toBeInstanceOf(PageDouble);
    expect(await back.next('welcome')).toMatchObject({ callId, transport: 'socket', resumed: true });
    back.say({ type: 'text', text: 'hello' });
    await back.next('transcript', ({ text }) => text === 'Okay.');
    expect(rig.model.sessions).toHaveLength(1);
    await until('the first connection is free', () => rig.peers?.size === 0);
  });
});
