// Elsewhere: a connection that broke while audio was being sent, or whose closing handshake was raced, was never
// reported as closed, and the pipeline waited for ever.

import { describe, expect, it } from 'vitest';
import type { TextSocket } from '../../src/leg/index.ts';
import { say } from '../../src/testing/index.ts';
import { placeCall } from './line.ts';

/** A socket that breaks from inside its n-th `send`. */
const breaksAt =
  (n: number, how: 'closes' | 'closes and throws') =>
  (socket: TextSocket): TextSocket => {
    let sink: Parameters<TextSocket['listen']>[0] = null;
    let sends = 0;
    return {
      get bufferedAmount() {
        return socket.bufferedAmount;
      },
      listen: (next) => {
        sink = next;
        socket.listen(next);
      },
      send: (text) => {
        sends += 1;
        if (sends !== n) {
          socket.send(text);
          return;
        }
        const told = sink;
        socket.listen(null);
        told?.closed(1006);
        if (how === 'closes and throws') throw new Error('write after end');
      },
      close: (code, reason) => socket.close(code, reason),
    };
  };

const story = (carrierWire?: (socket: TextSocket) => TextSocket) =>
  placeCall({
    config: { greeting: 'A long story.', limits: { reconnectGraceS: 0 } },
    turns: () => [say('A long story.', { durationMs: 20_000 })],
    ...(carrierWire ? { carrierWire } : {}),
  });

describe('bug 46: a carrier that is gone in the middle of a send', () => {
  it.each(['reset', 'hangup'] as const)('by a %s ends the call once, within a second', async (how) => {
    const line = await story();
    const { carrier, clock, call, desk, ended, store, fake } = line;
    let ends = 0;
    call.on('ended', () => ends++);
    await clock.drive(carrier.whenAgentSpeaks());
    await clock.advance(1010);

    carrier[how]();
    await clock.advance(1000);

    expect(ends).toBe(1);
    expect(ended).toHaveLength(1);
    expect(ended[0]!.reason).toBe(how === 'reset' ? 'connection_lost' : 'caller_hangup');
    expect(desk.activeCalls).toBe(0);
    expect(fake.session.isOpen).toBe(false);
    expect([...store.calls.values()]).toMatchObject([{ endReason: ended[0]!.reason }]);
    await clock.advance(5000);
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([1, 2, 7, 30])('from inside send number %i tears down once and throws nothing', async (n) => {
    const line = await story(breaksAt(n, 'closes'));
    const { carrier, clock, desk, ended } = line;
    await clock.advance(4000);

    expect(ended).toMatchObject([{ reason: 'connection_lost' }]);
    expect(desk.activeCalls).toBe(0);
    expect(carrier.violations).toEqual([]);
    await clock.advance(5000);
    expect(clock.pendingTimers).toBe(0);
  });

  it('raced by our own hang-up is one end with one reason', async () => {
    const line = await story();
    const { carrier, clock, call, ended } = line;
    await clock.drive(carrier.whenAgentSpeaks());

    call.end('shutdown');
    carrier.reset();
    call.end('shutdown');
    await clock.advance(1000);

    expect(ended).toMatchObject([{ reason: 'shutdown' }]);
    await clock.advance(5000);
    expect(clock.pendingTimers).toBe(0);
  });
});
