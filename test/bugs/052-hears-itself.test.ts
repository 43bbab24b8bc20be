// Elsewhere: with both tracks streamed the agent was fed its own voice; and a resampler that forgot between chunks lost
// samples at every seam.

import { describe, expect, it } from 'vitest';
import { audioBytes, createTranscoder, PCM16_24K, PCMU_8K } from '../../src/audio/index.ts';
import { hangUp, placeCall, SPEECH } from './line.ts';

describe('bug 52: a stream with both tracks', () => {
  it.each(['outbound', 'outbound_track', 'both', ''])('forwards nothing of the track "%s"', async (track) => {
    const line = await placeCall();
    const { carrier, clock, fake } = line;
    await clock.advance(200);
    carrier.pauseMedia();
    await clock.settle();
    const before = fake.session.inputMs;
    for (let n = 0; n < 10; n += 1) {
      const payload = Buffer.from(SPEECH.subarray(n * 160, (n + 1) * 160)).toString('base64');
      carrier.sendRaw(
        JSON.stringify({
          event: 'media',
          streamSid: carrier.streamSid,
          media: { track, payload, timestamp: `${200 + n * 20}` },
        }),
      );
    }
    await clock.settle();

    expect(fake.session.inputMs).toBe(before);
    expect(fake.session.sentOf('input_audio_buffer.speech_started')).toEqual([]);
    await hangUp(line);
  });
});

describe('bug 52: a resampler fed in chunks', () => {
  it.each([1, 37, 160, 161, 4800])('of %i bytes gives the very bytes of one call', (size) => {
    const speech = SPEECH;
    const whole = createTranscoder(PCMU_8K, PCM16_24K);
    const once = Buffer.concat([audioBytes(whole.process(speech)), whole.flush()]);
    whole.close();

    const parts = createTranscoder(PCMU_8K, PCM16_24K);
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < speech.length; at += size)
      chunks.push(Buffer.from(audioBytes(parts.process(speech.subarray(at, at + size)))));
    chunks.push(parts.flush());
    parts.close();

    expect(Buffer.concat(chunks).equals(once)).toBe(true);
    // All of it, and the few milliseconds that the filter still held.
    expect(once.length).toBeGreaterThanOrEqual(speech.length * 6);
    expect(once.length).toBeLessThanOrEqual(speech.length * 6 + 48 * 10);
  });
});
