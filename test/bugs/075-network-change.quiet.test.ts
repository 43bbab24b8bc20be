// Elsewhere: a restart of ICE was asked for and no offer made; after a NAT's rebinding there was no sound in the whole call.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { concatSamples } from '../../src/audio/index.ts';
import { UdpRelay, withoutCandidates } from '../leg/webrtc/udp-relay.ts';
import { openWebCall, type WebCall } from '../leg/webrtc/web-desk.ts';
import { WeriftPeer } from '../leg/webrtc/werift-peer.ts';
import { every20ms, openTestPeers, type TestPeers, until } from './webrtc-line.ts';

let line: TestPeers;
let web: WebCall;
beforeEach(async () => {
  line = await openTestPeers();
  web = await openWebCall({ limits: { reconnectGraceS: 5 } });
});
afterEach(async () => {
  web.desk.hangUpAll();
  await line.close();
});

/** A page with a network of its own; its leg is attached to the call when it is up. */
async function connect() {
  const caller = line.keep(new WeriftPeer());
  const relay = line.keep(await UdpRelay.open());
  const answer = await line.peers.answer(withoutCandidates(await caller.offer()), { noMediaTimeoutMs: 6000 });
  await caller.accept(relay.inAnswer(answer.sdp));
  if (!(await answer.connected)) throw new Error('The connection did not come up.');
  web.desk.attach(web.callId, answer.leg);
  const closed: string[] = [];
  answer.leg.on('closed', (reason) => closed.push(reason));
  const silence = new Int16Array(480);
  const stop = every20ms(() => caller.speak(silence));
  return { caller, relay, leg: answer.leg, closed, stop };
}

/** Whether the agent's tone reaches the caller, now. */
async function isHeard(caller: WeriftPeer, seconds = 6): Promise<boolean> {
  const model = web.models.current;
  caller.heard.length = 0;
  const responseId = model.respond();
  const itemId = `${responseId}_i`;
  // Half a second of a loud square wave at 24 kHz.
  const tone = Int16Array.from({ length: 12_000 }, (_, n) => (Math.floor(n / 24) % 2 === 0 ? 8000 : -8000));
  model.items.set(itemId, { ms: 500, truncated: null, deleted: false });
  model.emit('outputAudio', { responseId, itemId, audio: new Uint8Array(tone.buffer) });
  model.endItem(itemId);
  model.done();
  return until(() => {
    const loud = concatSamples([caller.heardSamples()]).filter((each) => Math.abs(each) > 3000);
    return loud.length > 6000;
  }, seconds * 1000);
}

/** Whether what the caller sends reaches the model, now. */
function isListenedTo(): Promise<boolean> {
  const before = web.models.current.inputBytes;
  return until(() => web.models.current.inputBytes > before + 24_000, 3000);
}

describe('bug 75: the caller’s network', () => {
  it('is gone for five seconds and comes back: the same leg, both ways', { timeout: 30_000 }, async () => {
    const { caller, relay, closed, stop } = await connect();
    expect(await isHeard(caller)).toBe(true);
    relay.manners = () => [];
    await until(() => false, 5000);
    relay.manners = () => [0];
    expect(await isListenedTo()).toBe(true);
    expect(await isHeard(caller)).toBe(true);
    expect([closed, web.ended]).toEqual([[], []]);
    stop();
  });

  it('changes its address: a new leg takes the place of the old one, and the call does not notice', {
    timeout: 30_000,
  }, async () => {
    const first = await connect();
    expect(await isHeard(first.caller)).toBe(true);
    await first.relay.changeAddress();
    // The page hears nothing any more, and calls again with a new offer for the same call.
    const startedAt = performance.now();
    const second = await connect();
    expect(performance.now() - startedAt).toBeLessThan(3000);
    expect(first.closed).toEqual(['local_hangup']);
    expect(await isListenedTo()).toBe(true);
    expect(await isHeard(second.caller)).toBe(true);
    expect(web.models.sessions).toHaveLength(1);
    expect(web.ended).toEqual([]);
    // The late end of the old connection means nothing to the call.
    first.stop();
    await first.caller.close();
    expect(await isHeard(second.caller)).toBe(true);
    expect(web.ended).toEqual([]);
    second.stop();
  });

  it('is gone for good: the call ends, and says why', { timeout: 30_000 }, async () => {
    const { relay, stop } = await connect();
    relay.manners = () => [];
    expect(await until(() => web.ended.length > 0, 15_000)).toBe(true);
    expect(['no_media', 'connection_lost']).toContain(web.ended[0]);
    expect(await until(() => line.peers.size === 0, 2000)).toBe(true);
    stop();
  });
});
