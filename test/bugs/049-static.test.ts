// Elsewhere: 24 kHz PCM was played as 8 kHz µ-law, because the format that had been asked for was not the one that came.

import { describe, expect, it } from 'vitest';
import { decodeG711, PCM16_24K, PCMU_8K } from '../../src/audio/index.ts';
import { say } from '../../src/testing/index.ts';
import { toneLevelDb } from '../audio/signals.ts';
import { callerSays, editing, hangUp, openExchange, placeCall } from './line.ts';

describe('bug 49: a model that speaks another format than it was asked for', () => {
  it.each([
    ['output', { output: PCM16_24K }],
    ['input', { input: PCM16_24K }],
    ['both', { input: PCM16_24K, output: PCM16_24K }],
    [
      'A-law',
      { input: { encoding: 'pcma', sampleRate: 8000 }, output: { encoding: 'pcma', sampleRate: 8000 } },
    ],
    ['neither', { input: PCMU_8K, output: PCMU_8K }],
  ] as const)(
    '(%s) is heard as it is: a tone of 440 Hz is one, and the caller is understood',
    async (_, forceFormats) => {
      const line = await placeCall({
        model: { forceFormats },
        turns: () => [say('A tone.', { durationMs: 2000, hz: 440 })],
      });
      const { carrier, clock, fake } = line;
      await callerSays(line);
      await clock.advance(5000);

      const [segment] = carrier.heardSegments();
      const samples = decodeG711(segment!.audio, 'pcmu').subarray(2000, 14_000);
      const level = toneLevelDb(samples, 440, 8000);
      expect(level).toBeGreaterThan(-16);
      for (const hz of [880, 1320, 1467, 2200, 3000])
        expect(level - toneLevelDb(samples, hz, 8000)).toBeGreaterThan(25);
      expect(segment!.endMs - segment!.startMs).toBeCloseTo(2000, -2);
      // One turn heard in one speech of 900 ms: what went in was no noise either.
      expect(fake.session.sentOf('input_audio_buffer.speech_started')).toHaveLength(1);
      await hangUp(line);
    },
  );

  it('ends before the call begins when the format is none that we can play', async () => {
    const line = openExchange({
      modelWire: editing({
        toClient: (text) => [
          text.includes('"session.updated"') ? text.replaceAll('"audio/pcmu"', '"audio/opus"') : text,
        ],
      }),
    });
    await expect(line.dial()).rejects.toMatchObject({ code: 'MODEL_PROTOCOL' });
    await line.clock.advance(5000);
    expect(line.desk.pendingCalls).toBe(0);
    expect(line.clock.pendingTimers).toBe(0);
  });
});
