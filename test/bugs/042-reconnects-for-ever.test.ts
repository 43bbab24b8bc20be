// Elsewhere: a client reconnected for ever with a key that was refused or a quota that was used up, while the caller
// listened to nothing.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { errorEvent, heardMs, type Line, placeCall } from './line.ts';

const talking = async (extra: object = {}) => {
  const line = await placeCall({
    config: { greeting: 'Hello.' },
    turns: () => [say('A long greeting.', { durationMs: 8000 })],
    ...extra,
  });
  await line.clock.drive(line.carrier.whenAgentSpeaks());
  await line.clock.advance(1000);
  return line;
};

async function expectEnded(line: Line, sessions: number) {
  const { carrier, clock, desk, ended, fake } = line;
  const from = carrier.nowMs;
  await clock.advance(30_000);
  expect(fake.sessions.length + fake.refusedHandshakes.length).toBe(sessions);
  expect(ended).toMatchObject([{ reason: 'model_failed' }]);
  // Told in our own voice, to the end, before the line drops.
  expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(380);
  expect(desk.activeCalls).toBe(0);
  expect(clock.pendingTimers).toBe(0);
}

describe('bug 42: a session that can never be had again', () => {
  it.each([
    ['close code 1008', (line: Line) => line.fake.session.close(1008, 'policy')],
    ['close code 3000', (line: Line) => line.fake.session.close(3000, 'unauthorized')],
    [
      'the error insufficient_quota',
      (line: Line) => line.fake.session.inject(errorEvent('insufficient_quota') as { type: string }),
    ],
    [
      'the error invalid_api_key, then a close',
      (line: Line) => {
        line.fake.session.inject(errorEvent('invalid_api_key') as { type: string });
        line.fake.session.close(1006);
      },
    ],
  ])('after %s is not asked for again; the caller is told and the call ends', async (_, breakIt) => {
    const line = await talking();
    breakIt(line);
    await expectEnded(line, 1);
  });

  it('whose key is refused at the reconnect is not asked for twice', async () => {
    let refuse = false;
    let attempts = 0;
    const line = await talking({
      modelWire:
        (open: Parameters<NonNullable<Parameters<typeof placeCall>[0]>['modelWire'] & object>[0]) =>
        (...[request, sink]: Parameters<typeof open>) => {
          attempts += 1;
          if (!refuse) return open(request, sink);
          queueMicrotask(() => sink.refused(401));
          return { bufferedAmount: 0, send: () => {}, ping: () => {}, close: () => {}, terminate: () => {} };
        },
    });
    refuse = true;
    line.fake.session.reset();
    await expectEnded(line, 1);
    expect(attempts).toBe(2);
  });

  it('after three quick failures is given up', async () => {
    let down = false;
    let attempts = 0;
    const line = await talking({
      modelWire:
        (open: Parameters<NonNullable<Parameters<typeof placeCall>[0]>['modelWire'] & object>[0]) =>
        (...[request, sink]: Parameters<typeof open>) => {
          attempts += 1;
          if (!down) return open(request, sink);
          queueMicrotask(() => sink.failed(new Error('refused')));
          return { bufferedAmount: 0, send: () => {}, ping: () => {}, close: () => {}, terminate: () => {} };
        },
    });
    down = true;
    line.fake.session.reset();
    await expectEnded(line, 1);
    expect(attempts).toBe(4);
  });

  it('that opens and drops again each time is given up as well, not tried for ever', async () => {
    const line = await talking();
    const { fake, clock, ended } = line;
    for (let n = 0; n < 12 && ended.length === 0; n += 1) {
      fake.session.reset();
      await clock.advance(4000);
    }
    await clock.advance(20_000);

    expect(fake.sessions.length).toBeLessThanOrEqual(5);
    expect(ended).toMatchObject([{ reason: 'model_failed' }]);
  });
});
