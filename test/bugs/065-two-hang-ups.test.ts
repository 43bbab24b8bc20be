// Elsewhere: a call that was ended and cancelled in the same moment was hung up twice, and the second hang-up failed.

import { describe, expect, it } from 'vitest';
import type { TextSocket } from '../../src/leg/index.ts';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, placeCall } from './line.ts';

function counting() {
  const codes: (number | undefined)[] = [];
  const wire = (socket: TextSocket): TextSocket => ({
    get bufferedAmount() {
      return socket.bufferedAmount;
    },
    listen: (sink) => socket.listen(sink),
    send: (text) => socket.send(text),
    close: (code, reason) => {
      codes.push(code);
      socket.close(code, reason);
    },
  });
  return { codes, wire };
}

describe('bug 65: a hang-up from several sides', () => {
  it('at once closes the line once, with one reason', async () => {
    const { codes, wire } = counting();
    const line = await placeCall({ carrierWire: wire });
    const { carrier, clock, call: conductor, desk, ended, legs } = line;
    let closed = 0;
    legs[0]!.on('closed', () => closed++);
    await clock.advance(500);

    conductor.end('agent_hangup');
    legs[0]!.carrierEnded();
    desk.hangUpAll();
    carrier.hangup();
    void legs[0]!.hangup();
    await clock.advance(2000);

    expect(codes).toEqual([1000]);
    expect(ended).toMatchObject([{ reason: 'agent_hangup' }]);
    expect(closed).toBeLessThanOrEqual(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('when the caller hangs up during the goodbye is the end that was planned', async () => {
    const { codes, wire } = counting();
    const line = await placeCall({
      carrierWire: wire,
      turns: ({ toolOutputs }) =>
        toolOutputs.length > 0 ? [] : [say('Goodbye.', { durationMs: 3000 }), call('end_call')],
    });
    const { carrier, clock, ended } = line;
    await callerSays(line);
    await clock.advance(1500);
    carrier.hangup();
    await clock.advance(5000);

    expect(codes.length).toBeLessThanOrEqual(1);
    expect(ended).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });
});
