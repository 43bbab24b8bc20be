/** Calls that reach us by a TURN server only, with the credentials that a page is given. */

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { concatSamples, pcm16ToSamples } from '../../src/audio/index.ts';
import { sine, toneLevelDb } from '../audio/signals.ts';
import { every20ms } from '../bugs/webrtc-line.ts';
import { WeriftPeer } from '../leg/webrtc/werift-peer.ts';
import { closePageRigs, pageRig, until } from '../server/page/rig.ts';
import { noTurnServer, startTurnServer, type TurnServer } from './turn-server.ts';

const reason = noTurnServer();
if (reason !== null) console.warn(`Skipped: calls over TURN. ${reason}.`);

let turn: TurnServer;
beforeAll(async () => {
  if (reason === null) turn = await startTurnServer();
});
afterAll(() => turn?.stop());
const open: WeriftPeer[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((each) => each.close()));
  await closePageRigs();
});

const CANDIDATE = /^a=candidate:.* typ (\w+)/gm;

describe.skipIf(reason !== null)('a call over TURN only', { timeout: 60_000 }, () => {
  it('is heard, tells no address but the relay’s, and takes the page’s own credentials', async () => {
    const rig = await pageRig({
      config: { webrtc: { relayOnly: true, turn: { urls: [turn.url], secret: turn.secret } } },
    });
    const owner = await rig.owner();
    const session = (await (await rig.get('/page/session', owner)).json()) as {
      relayOnly: boolean;
      iceServers: { urls: string[]; username: string; credential: string }[];
    };
    expect(session.relayOnly).toBe(true);
    const [server] = session.iceServers;
    const caller = new WeriftPeer({
      turn: { url: turn.url, username: server?.username ?? '', credential: server?.credential ?? '' },
    });
    open.push(caller);
    const heard: Int16Array[] = [];
    const attach = rig.desk.attach.bind(rig.desk);
    rig.desk.attach = (callId, leg) => {
      leg.on('audio', (audio) => heard.push(pcm16ToSamples(audio as Uint8Array)));
      attach(callId, leg);
    };

    const offer = await caller.offer();
    const answer = await rig.post('/page/calls', offer, { ...owner, 'content-type': 'application/sdp' });
    const sdp = await answer.text();

    expect(answer.status, sdp).toBe(201);
    expect([...sdp.matchAll(CANDIDATE)].map(([, type]) => type)).toEqual(['relay']);
    await caller.accept(sdp);
    await caller.whenConnected();
    const tone = sine(440, 24_000, 1);
    const stop = every20ms((n) => caller.speak(tone.slice((n % 50) * 480, ((n % 50) + 1) * 480)));
    await until('a second is heard', () => concatSamples(heard).length > 36_000);
    stop();
    const samples = concatSamples(heard).subarray(-12_000);
    expect(toneLevelDb(samples, 440, 24_000)).toBeGreaterThan(-20);
    await until('the greeting came', () => caller.heard.length > 5);
    expect(turn.log()).not.toContain(turn.secret);
  });
});
