// Elsewhere: two things that the agent wanted to say by itself came in one tick and became two requests, one of which the
// model refused.

import { describe, expect, it } from 'vitest';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 22: two announcements in one tick', () => {
  it('are both heard, one after the other, and leave the model alone', async () => {
    const line = await placeCall({ turns: () => [say('An answer.', { durationMs: 2000 })] });
    const { carrier, clock, call: conductor, fake } = line;
    await callerSays(line);
    await clock.drive(carrier.whenAgentSpeaks());

    const made = Promise.all([conductor.speakVerbatim('First.'), conductor.speakVerbatim('Second.')]);
    await clock.advance(5000);

    expect(await made).toEqual([true, true]);
    // 2 s of the model's, and twice the double's 400 ms.
    expect(heardMs(carrier)).toBeCloseTo(2800, -2);
    expect(fake.session.receivedOf('response.create')).toEqual([]);
    await hangUp(line);
  });

  it('two late results in one tick are two facts and one request', async () => {
    const line = await placeCall({
      tools: {
        send_email: { latencyMs: 6000, outcome: 'sent' },
        send_fax: { latencyMs: 6000, outcome: 'faxed' },
      },
      hears: ['do both'],
      turns: ({ heard, lastUserText }) =>
        heard === 'do both'
          ? [call('send_email'), call('send_fax')]
          : [say(lastUserText ?? 'Both came back.', { durationMs: 1000 })],
      config: { limits: { fillerAfterMs: 60_000 } },
    });
    const { carrier, clock, fake, gateway } = line;
    await callerSays(line);
    await clock.waitFor('the tools', () => gateway.calls.length === 2);
    fake.session.reset();
    await clock.waitFor('a new session', () => fake.sessions.length === 2);
    await clock.advance(10_000);

    const told = fake.session.receivedOf('conversation.item.create').map(({ item }) => JSON.stringify(item));
    expect(told.filter((text) => text.includes('sent'))).toHaveLength(1);
    expect(told.filter((text) => text.includes('faxed'))).toHaveLength(1);
    expect(fake.session.receivedOf('response.create').length).toBeLessThanOrEqual(2);
    expect(heardMs(carrier)).toBeGreaterThanOrEqual(980);
    await hangUp(line);
  });

  it('two entries of the keypad in one tick both reach the model, and collide with nothing', async () => {
    const line = await placeCall({ turns: () => [say('Noted.', { durationMs: 600 })] });
    const { carrier, clock, fake } = line;
    for (const key of '12#34#') carrier.dtmf(key);
    await clock.advance(4000);

    const told = fake.session.receivedOf('conversation.item.create').map(({ item }) => JSON.stringify(item));
    expect(told.filter((text) => /: (12|34)\]/.test(text))).toHaveLength(2);
    await hangUp(line);
  });
});
