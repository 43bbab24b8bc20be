// Elsewhere: a call that was ended and cancelled in the same moment was hung up twice, and the second hang-up failed.

import { describe, expect, it } from 'vitest';
import type { TextSocket } from '../../src/leg/index.ts';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, placeCall } from './line.ts';
import { openPhone } from './phone.ts';

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

  it('at once is one request to the carrier', async () => {
    const phone = await openPhone();
    const { clock, desk, api, ended } = phone;
    const twilio = await phone.ring();
    const [entry] = [...phone.store.calls.keys()];
    const conductor = desk.call(entry!)!;

    conductor.end('agent_hangup');
    desk.hangUpAll();
    conductor.end('silence');
    await clock.drive(twilio.ended);
    await clock.advance(3000);

    // Whether it comes before the call has ended by its TwiML is Twilio's affair.
    expect(api.requests).toMatchObject([{ form: { Status: 'completed' } }]);
    expect(ended).toMatchObject([{ reason: 'agent_hangup' }]);
    expect(clock.pendingTimers).toBe(0);
    await phone.close();
  });

  it.each([
    ['that the caller has ended meanwhile (404)', 404, 20404],
    ['that is not in progress (21220)', 400, 21220],
  ])('of a call %s is no failure, and is not tried again', async (_, status, code) => {
    const phone = await openPhone();
    const { clock, desk, api, ended } = phone;
    const twilio = await phone.ring();
    api.next({ kind: 'reject', status, code });

    desk.hangUpAll();
    await clock.advance(5000);

    expect(api.requests).toHaveLength(1);
    expect(ended).toMatchObject([{ reason: 'shutdown', counters: {} }]);
    expect(phone.logs.join()).not.toContain('did not take the hang-up');
    twilio.hangup();
    await phone.close();
  });
});
