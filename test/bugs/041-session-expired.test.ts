// Elsewhere: the provider's limit on a session ended the phone call with it, in the middle of a sentence.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { callerSays, errorEvent, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 41: a model session that expires', () => {
  it('is replaced before its limit, at a quiet moment, with what was said so far and without a second greeting', async () => {
    const greeting = 'Hello, this is the only greeting.';
    const line = await placeCall({
      config: { greeting, limits: { maxCallS: 7200, silenceTimeoutS: 3600 } },
      // The server states its limit: seven minutes.
      model: { maxSessionMs: 420_000 },
      hears: ['my name is Ada', 'what is my name'],
      turns: ({ heard }) => [say(heard === null ? greeting : `You said: ${heard}`, { durationMs: 1500 })],
    });
    const { carrier, clock, fake } = line;
    await clock.drive(carrier.whenAgentIdle(400));
    await callerSays(line);
    await clock.advance(3000);

    // At two minutes it may go; somebody speaks, so it waits.
    await clock.advance(119_000 - clock.now());
    await callerSays(line);
    await clock.drive(carrier.whenAgentSpeaks());
    await clock.advance(1000);
    expect(fake.sessions).toHaveLength(1);
    const talking = heardMs(carrier);
    await clock.advance(4000);

    expect(fake.sessions).toHaveLength(2);
    expect(heardMs(carrier) - talking).toBeGreaterThan(400);
    const told = fake.session.items.map((item) => JSON.stringify(item));
    expect(told.filter((text) => text.includes('my name is Ada'))).not.toHaveLength(0);
    expect(told.length).toBeLessThanOrEqual(24);
    expect(fake.session.receivedOf('response.create')).toEqual([]);
    // Before the server would have ended it, and with nothing to notice on the line.
    const from = carrier.nowMs;
    await callerSays(line);
    await clock.advance(3000);
    expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(1480);
    const greetings = fake.sessions.flatMap((session) => session.receivedOf('response.create'));
    expect(greetings.filter((event) => JSON.stringify(event).includes(greeting))).toHaveLength(1);
    const { counters } = await hangUp(line);
    expect(counters.fault_session_expired).toBeUndefined();
  });

  it('in the middle of a sentence all the same is a gap of at most a second, and the answer goes on', async () => {
    const line = await placeCall({
      turns: ({ index }) => [say('A long answer.', { durationMs: index === 0 ? 9000 : 1500 })],
      model: { timing: { firstOutputMs: 100, speed: 1 } },
    });
    const { carrier, clock, fake } = line;
    await callerSays(line);
    await clock.drive(carrier.whenAgentSpeaks());
    await clock.advance(2500);

    fake.session.inject(errorEvent('session_expired') as { type: string });
    fake.session.close(1001, 'session_expired');
    const lostAt = carrier.nowMs;
    await clock.advance(8000);

    expect(fake.sessions).toHaveLength(2);
    const after = carrier.heardSegments(100).filter(({ endMs }) => endMs > lostAt);
    const resumed = after.find(({ startMs }) => startMs > lostAt);
    const silentFrom = Math.max(
      lostAt,
      ...after.filter(({ startMs }) => startMs <= lostAt).map(({ endMs }) => endMs),
    );
    expect(resumed!.startMs - silentFrom).toBeLessThanOrEqual(1000);
    expect(heardMs(carrier, resumed!.startMs)).toBeGreaterThanOrEqual(1480);
    expect(JSON.stringify(fake.session.receivedOf('response.create'))).toContain('Do not greet again');
    await hangUp(line);
  });

  it('while the caller speaks loses no call: they are answered when they say it', async () => {
    const line = await placeCall({ turns: () => [say('An answer.', { durationMs: 1500 })] });
    const { carrier, clock, fake } = line;
    void carrier.speak(new Uint8Array(16_000).fill(0x10));
    await clock.advance(800);
    fake.session.close(1001, 'session_expired');
    await clock.advance(8000);

    expect(fake.sessions).toHaveLength(2);
    expect(heardMs(carrier)).toBeGreaterThanOrEqual(1480);
    await hangUp(line);
  });
});
