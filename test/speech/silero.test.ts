import { describe, expect, it } from 'vitest';
import { samplesToFloat } from '../../src/audio/index.ts';
import { createVoiceActivityDetector, VAD_WINDOW } from '../../src/speech/index.ts';
import { clip, json } from './clips.ts';

function probabilities(samples: Int16Array): number[] {
  const detector = createVoiceActivityDetector();
  const floats = samplesToFloat(samples);
  return Array.from({ length: Math.floor(floats.length / VAD_WINDOW) }, (_, i) =>
    detector.process(floats.subarray(i * VAD_WINDOW, (i + 1) * VAD_WINDOW)),
  );
}

const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length;

describe('the voice activity detector', () => {
  it('gives what another implementation gives for the same weights', async () => {
    const expected = json<number[]>('fixtures/vad/go-forward.json');
    const samples = (await clip('fixtures/human/go-forward.wav')).subarray(4000);
    const actual = probabilities(samples).slice(0, expected.length);
    const worst = Math.max(...expected.map((value, i) => Math.abs(value - actual[i]!)));
    expect(expected.length).toBe(87);
    expect(worst).toBeLessThan(2e-6);
  });

  it('hears no speech in silence, in noise and in a tone', () => {
    let state = 1;
    const noise = Int16Array.from({ length: 32_000 }, () => {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      return state >> 20;
    });
    const tone = Int16Array.from({ length: 32_000 }, (_, i) => 8000 * Math.sin(i / 5));
    for (const samples of [new Int16Array(32_000), noise, tone]) {
      expect(mean(probabilities(samples))).toBeLessThan(0.1);
    }
  });

  it.each([
    'fixtures/synthesised/not-a-command-8k-mulaw.wav',
    'fixtures/synthesised/not-a-command-noisy-10db-8k-mulaw.wav',
    'fixtures/synthesised/not-a-command-clipped-8k-mulaw.wav',
    'fixtures/human/librivox-0890.wav',
    'fixtures/human/armelle-conf-onlyperson.wav',
  ])('hears speech in %s', async (name) => {
    const speech = probabilities(await clip(name)).filter((value) => value >= 0.5).length;
    expect(speech * 32).toBeGreaterThan(900);
  });

  it('keeps two streams apart and forgets on reset', async () => {
    const speech = samplesToFloat((await clip('fixtures/human/go-forward.wav')).subarray(16_000, 32_000));
    const fresh = createVoiceActivityDetector();
    const used = createVoiceActivityDetector();
    for (let i = 0; i < 20; i++) used.process(speech.subarray(i * 512, (i + 1) * 512));
    const window = speech.subarray(0, 512);
    const expected = fresh.process(window);
    expect(used.process(window)).not.toBe(expected);
    used.reset();
    expect(used.process(window)).toBe(expected);
  });

  it('refuses a window of another length', () => {
    expect(() => createVoiceActivityDetector().process(new Float32Array(480))).toThrow(RangeError);
  });
});
