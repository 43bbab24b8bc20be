// Elsewhere: a reply that was interrupted before its first frame waited for ever to be played out; everything queued
// behind it and the agent never spoke again.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall } from './line.ts';

describe('bug 8: an interruption between the start of a response and its first audio', () => {
  it.each([0, 20, 200, 1000, 2900, 2980, 3000])('after %i ms does not mute the call', async (ms) => {
    const line = await placeCall({
      model: { timing: { firstOutputMs: 3000 } },
      turns: ({ heard }) => [say(heard ?? 'Nothing.', { durationMs: 1500 })],
      hears: ['first', 'second', 'third'],
    });
    const { carrier, clock, fake } = line;
    await clock.drive(carrier.speak(new Uint8Array(7200).fill(0x10)));
    await clock.waitFor('a response', () => fake.session.activeResponseId !== null);
    await clock.advance(ms);

    fake.session.startSpeech();
    await clock.advance(400);
    const silentFrom = carrier.nowMs;
    fake.session.endSpeech();
    await clock.advance(5000);

    expect(heardMs(carrier, silentFrom)).toBeGreaterThanOrEqual(1400);
    // And the turn after it, so that nothing waits for the reply that never played.
    const thirdFrom = carrier.nowMs;
    await callerSays(line);
    await clock.advance(5000);
    expect(heardMs(carrier, thirdFrom)).toBeGreaterThanOrEqual(1400);
    expect(clock.pendingWork).toBe(0);
    await hangUp(line);
  });

  it('by a key does not either, though then the cancel is ours', async () => {
    const line = await placeCall({
      model: { timing: { firstOutputMs: 3000 } },
      turns: () => [say('Something.', { durationMs: 1500 })],
    });
    const { carrier, clock, fake } = line;
    await callerSays(line);
    await clock.waitFor('a response', () => fake.session.activeResponseId !== null);

    carrier.dtmf('7');
    await clock.advance(100);
    const from = carrier.nowMs;
    // The key becomes an entry after a pause, and is answered.
    await clock.advance(8000);

    expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(1400);
    await hangUp(line);
  });
});
