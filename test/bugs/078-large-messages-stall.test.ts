// Elsewhere: data channel messages went out in packets of more than 1,280 bytes and stalled in a tunnel, and the call with it.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  MAX_SHOWN_CHARS,
  MAX_WIRE_BYTES,
  MessageJoiner,
  type PageEvent,
  PageLink,
} from '../../src/leg/page/index.ts';
import { isDtls, UdpRelay, withoutCandidates } from '../leg/webrtc/udp-relay.ts';
import { WeriftPeer } from '../leg/webrtc/werift-peer.ts';
import { every20ms, openTestPeers, type TestPeers, until } from './webrtc-line.ts';

/** What an IPv6 tunnel of 1,280 bytes leaves for UDP's payload. */
const TUNNEL_PAYLOAD = 1280 - 40 - 8;

let line: TestPeers;
beforeEach(async () => {
  line = await openTestPeers();
});
afterEach(() => line.close());

describe('bug 78: a path of 1,280 bytes', () => {
  it('lets the longest transcript through, in messages of at most 1,100 bytes, and sound beside it', {
    timeout: 20_000,
  }, async () => {
    const caller = line.keep(new WeriftPeer({ channel: true }));
    const relay = line.keep(await UdpRelay.open());
    let largest = 0;
    relay.manners = ({ bytes, direction }) => {
      if (direction === 'out' && isDtls(bytes)) largest = Math.max(largest, bytes.byteLength);
      return bytes.byteLength > TUNNEL_PAYLOAD ? [] : [0];
    };
    const link = new PageLink('owner', () => performance.now());
    const answer = await line.peers.answer(withoutCandidates(await caller.offer()), { link });
    await caller.accept(relay.inAnswer(answer.sdp));
    expect(await answer.connected).toBe(true);
    let frames = 0;
    answer.leg.on('audio', () => {
      frames += 1;
    });
    const silence = new Int16Array(480);
    const stop = every20ms(() => caller.speak(silence));
    await until(() => caller.channel?.readyState === 'open', 5000);
    caller.channel?.send(JSON.stringify({ type: 'hello', v: 1 }));
    const text = 'Ünïcödé wörds, "quoted". '.repeat(400).slice(0, MAX_SHOWN_CHARS);

    answer.leg.show({
      type: 'transcript',
      role: 'assistant',
      itemId: 'i1',
      text,
      append: false,
      final: true,
    });

    const joiner = new MessageJoiner();
    const events: PageEvent[] = [];
    let read = 0;
    const isThere = await until(() => {
      for (; read < caller.messages.length; read += 1) {
        const event = joiner.join(caller.messages[read]!) as PageEvent | undefined;
        if (event) events.push(event);
      }
      return events.some(({ type }) => type === 'transcript');
    }, 5000);
    expect(isThere).toBe(true);
    expect(await until(() => frames > 5, 5000)).toBe(true);
    stop();
    expect(events.find(({ type }) => type === 'transcript')).toMatchObject({ text });
    expect(Math.max(...caller.messages.map((each) => Buffer.byteLength(each)))).toBeLessThanOrEqual(
      MAX_WIRE_BYTES,
    );
    expect(largest).toBeLessThanOrEqual(TUNNEL_PAYLOAD);
    expect(largest).toBeGreaterThan(1000);
    expect(answer.leg.received.missing).toBeLessThan(3);
  });
});
