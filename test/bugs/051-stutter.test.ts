// Elsewhere: pieces of odd sizes were sent on as they came, unpaced, and the phone stuttered.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { editing, hangUp, placeCall } from './line.ts';

/** Cuts the model's audio into pieces of these sizes, round and round. */
function recut(sizes: readonly number[]) {
  let at = 0;
  return editing({
    toClient: (text) => {
      if (!text.includes('"response.output_audio.delta"')) return [text];
      const event = JSON.parse(text) as { delta: string };
      const bytes = Buffer.from(event.delta, 'base64');
      const pieces: string[] = [];
      for (let from = 0; from < bytes.length; ) {
        const size = sizes[at++ % sizes.length]!;
        pieces.push(
          JSON.stringify({ ...event, delta: bytes.subarray(from, from + size).toString('base64') }),
        );
        from += size;
      }
      return pieces;
    },
  });
}

describe('bug 51: audio in pieces of odd sizes, in bursts', () => {
  it.each([
    [[37, 5000, 1], Number.POSITIVE_INFINITY],
    [[37, 5000, 1], 4],
    [[1, 2, 3, 700], 4],
    [[159, 161], 20],
    [[8000], 1.5],
  ] as const)(
    '(%j bytes, at %d times real time) leaves as frames of 160 bytes, 20 ms apart, with a small lead and no gap',
    async (sizes, speed) => {
      const line = await placeCall({
        config: { greeting: 'Twelve seconds.' },
        model: { timing: { firstOutputMs: 50, speed } },
        modelWire: recut(sizes),
        turns: () => [say('Twelve seconds.', { durationMs: 12_000 })],
      });
      const { carrier, clock } = line;
      let mostQueued = 0;
      for (let n = 0; n < 1400; n += 1) {
        await clock.advance(10);
        mostQueued = Math.max(mostQueued, carrier.queuedMs);
      }

      const media = carrier.received.filter(({ event }) => event === 'media');
      expect(media.every(({ bytes }) => bytes! > 0 && bytes! % 160 === 0)).toBe(true);
      expect(mostQueued).toBeLessThanOrEqual(200);
      const segments = carrier.heardSegments();
      expect(segments).toHaveLength(1);
      expect(segments[0]!.endMs - segments[0]!.startMs).toBeCloseTo(12_000, -2);
      // Once the lead is there, a frame every 20 ms and not a burst every now and then.
      const sent = media.filter(({ atMs }) => atMs > 2000 && atMs < 10_000);
      const gaps = sent.slice(1).map(({ atMs }, n) => atMs - sent[n]!.atMs);
      expect(Math.max(...gaps)).toBeLessThanOrEqual(40);
      await hangUp(line);
    },
  );
});
