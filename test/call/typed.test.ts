/** What a caller types is a turn like any other: it is answered, whenever it comes. */
import { beforeAll, describe, expect, it } from 'vitest';
import { loadAudio } from '../../src/audio/index.ts';
import { say } from '../../src/testing/index.ts';
import { hangUp, placeCall } from '../bugs/line.ts';
import { startCall } from './harness.ts';

beforeAll(() => loadAudio());

describe('text that the caller types', () => {
  const legs = [
    ['marks', {}],
    ['no marks', { marks: 'none', pacing: 'sender' }],
  ] as const;
  const paces = ['while the model still makes it', 'after the model has made it'] as const;
  for (const [kind, leg] of legs)
    it.each(paces)(
      `over the greeting, at any moment of it, %s, is answered, on a leg with ${kind}`,
      async (pace) => {
        for (let at = 0; at <= 3000; at += 60) {
          const test = startCall({ config: { greeting: 'Hello, how can I help you?' }, leg });
          await test.advance(20);
          const model = test.models.current;
          expect(model.answerRequest(), `at ${at}`).not.toBeNull();
          for (let played = 0; played <= at; played += 60) {
            if (played === 0 && pace === 'after the model has made it') {
              model.speak(2000);
              model.endItem();
              model.done();
            } else if (pace === 'while the model still makes it' && played < 2000) model.speak(60);
            await test.advance(60);
          }
          test.leg.emit('text', 'how are you');
          await test.advance(100);
          if (model.active !== null) {
            model.endItem();
            model.done();
          }
          await test.advance(1000);

          expect(model.context, `at ${at}`).toContain('how are you');
          expect(model.answerRequest(), `answered at ${at}`).not.toBeNull();
          expect(test.violations).toEqual([]);
          test.call.end('caller_hangup');
        }
      },
    );

  it('over the greeting of a model as it is, at any moment of it, is answered', async () => {
    for (let at = 0; at <= 5000; at += 100) {
      const asked: (string | null)[] = [];
      const line = await placeCall({
        config: { greeting: 'Hello, how can I help you?' },
        turns: (turn) => {
          asked.push(turn.lastUserText);
          return [say('Fine.')];
        },
      });
      await line.clock.advance(at);
      line.legs.at(-1)?.emit('text', 'how are you');
      await line.clock.advance(5000);

      expect(asked, `at ${at}`).toContain('how are you');
      await hangUp(line);
    }
  });
});
