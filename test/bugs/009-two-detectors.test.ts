// Elsewhere: two detectors each handled the same interruption; one cleared the line, neither cancelled the turn, and
// audio kept coming.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { hangUp, type Line, placeCall } from './line.ts';

const detectors = {
  model: ({ fake }: Line) => fake.session.startSpeech(),
  key: ({ carrier }: Line) => carrier.dtmf('5'),
};
const orders = [
  ['model', 'key'],
  ['key', 'model'],
] as const;
const gaps = [0, 1, 20, 50];
const cases = orders.flatMap(([first, second]) =>
  gaps.flatMap((gap) => [true, false].map((itself) => ({ first, second, gap, itself }))),
);

describe('bug 9: one interruption seen by two detectors', () => {
  it.each(cases)(
    '$first first, $second $gap ms later (model cancels by itself: $itself) is carried out once',
    async (each) => {
      const line = await placeCall({
        config: { greeting: 'A long story.' },
        interruptResponse: each.itself,
        turns: ({ index }) => [say('A long story.', { durationMs: index === 0 ? 20_000 : 300 })],
        model: { timing: { speed: 1.5 } },
      });
      const { carrier, clock, fake } = line;
      await clock.drive(carrier.whenAgentSpeaks());
      await clock.advance(1500);
      const itemId = fake.session.sentOf('response.output_audio.delta')[0]!.item_id;

      detectors[each.first](line);
      if (each.gap > 0) await clock.advance(each.gap);
      detectors[each.second](line);
      await clock.advance(200);

      expect(carrier.received.filter(({ event }) => event === 'clear')).toHaveLength(1);
      const truncates = fake.session.receivedOf('conversation.item.truncate');
      expect(truncates.map((event) => event.item_id)).toEqual([itemId]);
      const done = fake.session
        .sentOf('response.done')
        .map((event) => (event.response as { status: string }).status);
      expect(done).toEqual(['cancelled']);
      const modelCancels = each.itself && each.first === 'model';
      expect(fake.session.receivedOf('response.cancel').length).toBeLessThanOrEqual(1);
      if (!each.itself) expect(fake.session.receivedOf('response.cancel')).toHaveLength(1);
      if (modelCancels) expect(fake.session.receivedOf('response.cancel')).toHaveLength(0);
      expect(carrier.queuedMs).toBe(0);
      // A cancel of ours may cross the one that the model decided on by itself.
      await hangUp(line, each.itself ? ['response_cancel_not_active'] : []);
    },
  );
});
