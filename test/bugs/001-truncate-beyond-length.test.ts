// Elsewhere: the position of an interruption was taken from the inbound media clock, so a truncate asked for 3760 ms of
// an item of 3700 ms, was refused, and the model believed that it had been heard to the end.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { hangUp, placeCall, withoutMarks } from './line.ts';

/** 29,600 bytes of µ-law. */
const ITEM_MS = 3700;

async function interruptAt(mediaMs: number, marks: boolean) {
  const line = await placeCall({
    config: { greeting: 'Three point seven seconds.' },
    model: { timing: { firstOutputMs: 0, speed: 20 } },
    turns: ({ index }) => [say('Three point seven seconds.', { durationMs: index === 0 ? ITEM_MS : 200 })],
    ...(marks ? {} : { carrierWire: withoutMarks }),
  });
  const { carrier, clock, fake } = line;
  await clock.drive(carrier.whenAgentSpeaks());
  // The first of it is heard while the frame before is being counted.
  await clock.advance(mediaMs - 20);
  fake.session.startSpeech();
  await clock.advance(100);
  const truncates = fake.session.receivedOf('conversation.item.truncate').map((each) => each.audio_end_ms);
  await hangUp(line);
  return truncates;
}

describe('bug 1: a truncate beyond the audio', () => {
  const times = [3000, 3600, 3660, 3680, 3700, 3720, 3740, 3760, 3780, 4200];

  it.each(times)(
    'is never sent when the caller’s clock stands at %i ms of an item of 3700 ms',
    async (ms) => {
      for (const marks of [true, false]) {
        const truncates = await interruptAt(ms, marks);
        expect(truncates.length).toBeLessThanOrEqual(1);
        for (const audioEndMs of truncates) {
          expect(Number.isInteger(audioEndMs)).toBe(true);
          expect(audioEndMs).toBeGreaterThanOrEqual(0);
          expect(audioEndMs).toBeLessThanOrEqual(ITEM_MS);
          expect(audioEndMs).toBeLessThanOrEqual(ms + 20);
          // Where marks do not come back yet, less than was heard is what can be vouched for.
          if (marks) expect(audioEndMs).toBeGreaterThanOrEqual(Math.min(ms, ITEM_MS) - 80);
        }
        if (ms < ITEM_MS - 100) expect(truncates).toHaveLength(1);
      }
    },
  );

  it.each([300, 700])(
    'follows the carrier, not our clock, when it began to play %i ms late',
    async (lateMs) => {
      const line = await placeCall({
        config: { greeting: 'Three point seven seconds.' },
        model: { timing: { firstOutputMs: 0, speed: 20 } },
        turns: ({ index }) => [
          say('Three point seven seconds.', { durationMs: index === 0 ? ITEM_MS : 200 }),
        ],
      });
      const { carrier, clock, fake } = line;
      carrier.stallReading();
      await clock.advance(lateMs);
      carrier.resumeReading();
      await clock.drive(carrier.whenAgentSpeaks());
      await clock.advance(1500);

      fake.session.startSpeech();
      await clock.advance(100);

      const [truncate] = fake.session.receivedOf('conversation.item.truncate');
      const [segment] = carrier.heardSegments();
      const heard = segment!.endMs - segment!.startMs;
      expect(truncate!.audio_end_ms).toBeLessThanOrEqual(heard + 20);
      expect(truncate!.audio_end_ms).toBeGreaterThanOrEqual(heard - 220);
      await hangUp(line);
    },
  );

  it('does not count what a carrier that stopped reading can not have played', async () => {
    const line = await placeCall({
      config: { greeting: 'Three point seven seconds.' },
      model: { timing: { firstOutputMs: 0, speed: 20 } },
      turns: ({ index }) => [say('Three point seven seconds.', { durationMs: index === 0 ? ITEM_MS : 200 })],
    });
    const { carrier, clock, fake } = line;
    await clock.drive(carrier.whenAgentSpeaks());
    await clock.advance(1000);
    carrier.stallReading();
    await clock.advance(1500);
    const [segment] = carrier.heardSegments();
    const heard = segment!.endMs - segment!.startMs;

    fake.session.startSpeech();
    await clock.advance(100);
    carrier.resumeReading();
    await clock.advance(100);

    const [truncate] = fake.session.receivedOf('conversation.item.truncate');
    // To the distance of two marks, 200 ms.
    expect(truncate!.audio_end_ms).toBeLessThanOrEqual(heard + 220);
    expect(truncate!.audio_end_ms).toBeGreaterThanOrEqual(heard - 220);
    expect(carrier.queuedMs).toBe(0);
    await hangUp(line);
  });
});
