// Elsewhere: interrupting an answer that had finished generating sent no `clear`, so seconds of it played on, and no
// truncate, so the model believed that all of it was heard.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { hangUp, placeCall } from './line.ts';

describe('bug 3: an answer that is generated but still plays', () => {
  it.each([
    ['a word of the caller’s', 'speech'],
    ['a key', 'digit'],
  ])(
    'is interrupted by %s: one clear, one truncate at about 2000 ms, no active response needed',
    async (_, by) => {
      const line = await placeCall({
        config: { greeting: 'A disclaimer.' },
        model: { timing: { firstOutputMs: 50, speed: 40 } },
        turns: () => [say('A long disclaimer that takes ten seconds to say.', { durationMs: 10_000 })],
      });
      const { carrier, clock, fake } = line;
      await clock.drive(carrier.whenAgentSpeaks());
      const startedAt = carrier.heardSegments()[0]!.startMs;
      await clock.advance(2000);
      expect(fake.session.activeResponseId).toBeNull();

      if (by === 'speech') fake.session.startSpeech();
      else carrier.dtmf('1');
      await clock.advance(40);

      expect(carrier.received.filter(({ event }) => event === 'clear')).toHaveLength(1);
      const heard = carrier.heardSegments().at(-1)!.endMs - startedAt;
      const [truncate, ...more] = fake.session.receivedOf('conversation.item.truncate');
      expect(more).toEqual([]);
      expect(Math.abs(truncate!.audio_end_ms - 2000)).toBeLessThanOrEqual(60);
      expect(Math.abs(truncate!.audio_end_ms - heard)).toBeLessThanOrEqual(60);
      expect(fake.session.receivedOf('response.cancel')).toEqual([]);
      await clock.advance(1000);
      expect(carrier.queuedMs).toBe(0);
      await hangUp(line);
    },
  );
});
