import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { fromSamples, loadAudio, PCMU_8K, readAudioFile, silence } from '../../src/audio/index.ts';
import { LocalDetector } from '../../src/call/local-detector.ts';

beforeAll(() => loadAudio());

/** What the detector says of a second of silence, the clip, and another second, with the time of each. */
async function heardIn(path: string): Promise<{ events: [event: string, atMs: number][]; clipMs: number }> {
  const { samples } = await readAudioFile(fileURLToPath(new URL(`../../${path}`, import.meta.url)));
  const clip = fromSamples(samples, PCMU_8K);
  const pause = silence(8000, PCMU_8K);
  const line = Buffer.concat([pause, clip, pause]);
  const detector = new LocalDetector(PCMU_8K);
  const events: [string, number][] = [];
  for (let at = 0; at < line.length; at += 160)
    for (const event of detector.hear(line.subarray(at, at + 160))) events.push([event, at / 8 + 20 - 1000]);
  detector.close();
  return { events, clipMs: clip.length / 8 };
}

describe('our own detector, on a phone line', () => {
  it.each(['assets/demo/ask-time.wav', 'assets/demo/long-answer.wav', 'assets/demo/cough.wav'])(
    'hears %s within a quarter of a second, and its end soon after',
    async (path) => {
      const { events, clipMs } = await heardIn(path);

      expect(events.map(([event]) => event)).toEqual(['speechStarted', 'speechStopped']);
      expect(events[0]![1]).toBeLessThan(250);
      expect(events[1]![1]).toBeGreaterThan(clipMs / 2);
      expect(events[1]![1]).toBeLessThan(clipMs + 500);
    },
  );
});
