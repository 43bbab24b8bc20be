// Elsewhere: a `disconnected` that would have passed by itself closed the call.

import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../../src/clock-virtual.ts';
import { DISCONNECT_GRACE_MS, WebRtcLeg } from '../../src/leg/webrtc/leg.ts';
import type { ConnectionSink } from '../../src/leg/webrtc/native.ts';

function open() {
  const clock = new VirtualClock();
  const closed: string[] = [];
  let sink: ConnectionSink | null = null;
  const leg = new WebRtcLeg({
    connection: {
      listen: (each) => {
        sink = each;
      },
      send: () => {},
      close: () => {},
    },
    clock,
    link: null,
    payloadType: 111,
    receives: true,
    ssrc: 1,
    cname: 'agent',
    firstSequence: 0,
    firstTimestamp: 0,
    bitrate: 24_000,
    complexity: 0,
    noMediaTimeoutMs: 120_000,
    settled: () => {},
    freed: () => {},
  });
  leg.on('closed', (reason) => closed.push(reason));
  const tell = (what: 'connected' | 'disconnected') => sink?.[what]();
  tell('connected');
  return { clock, closed, tell };
}

describe('bug 79: a connection that is disconnected', () => {
  it('and comes back is the same call, as often as it happens', async () => {
    const { clock, closed, tell } = open();
    for (let n = 0; n < 5; n += 1) {
      tell('disconnected');
      await clock.advance(DISCONNECT_GRACE_MS - 100);
      tell('connected');
      await clock.advance(1000);
    }
    expect(closed).toEqual([]);
  });

  it('and stays so has a bounded time, however often it is said', async () => {
    const { clock, closed, tell } = open();
    for (let ms = 0; ms <= DISCONNECT_GRACE_MS; ms += 1000) {
      tell('disconnected');
      await clock.advance(1000);
    }
    expect(closed).toEqual(['connection_lost']);
  });
});
