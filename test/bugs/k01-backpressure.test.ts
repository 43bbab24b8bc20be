// No public report, but a known weakness: a carrier that stops reading makes whoever sends to it run out of memory.

import { describe, expect, it } from 'vitest';
import { MAX_BUFFERED_BYTES } from '../../src/leg/twilio/index.ts';
import { say } from '../../src/testing/index.ts';
import { callerSays, hangUp, heardMs, placeCall } from './line.ts';

const story = () =>
  placeCall({
    config: { greeting: 'An endless story.', limits: { maxCallS: 7200 } },
    turns: ({ index }) => [say('A story.', { durationMs: index === 0 ? 900_000 : 1000 })],
    model: { timing: { firstOutputMs: 50, speed: 1.2 } },
  });

describe('K: a carrier that stops reading', () => {
  it('for 10 s costs a bounded amount of memory and not the call', async () => {
    const line = await story();
    const { carrier, clock, ended, fake } = line;
    await clock.drive(carrier.whenAgentSpeaks());
    await clock.advance(2000);
    const before = carrier.received.length;
    carrier.stallReading();
    await clock.advance(10_000);
    expect(carrier.received.length).toBe(before);
    carrier.resumeReading();
    await clock.advance(200);

    const missed = carrier.received.slice(before).reduce((sum, { bytes }) => sum + (bytes ?? 0), 0);
    expect(missed).toBeLessThanOrEqual(11_000 * 8);
    expect(ended).toEqual([]);
    // The caller can interrupt what had piled up.
    fake.session.startSpeech();
    await clock.advance(100);
    expect(carrier.queuedMs).toBe(0);
    fake.session.endSpeech();
    const from = carrier.nowMs;
    await callerSays(line);
    await clock.advance(3000);
    expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(980);
    await hangUp(line);
  });

  it('for good is given up at the bound, and the record says why', async () => {
    const line = await story();
    const { carrier, clock, desk, ended, fake } = line;
    await clock.drive(carrier.whenAgentSpeaks());
    carrier.stallReading();
    await clock.waitFor('the end', () => ended.length > 0, 300_000);

    expect(ended).toMatchObject([{ reason: 'backpressure' }]);
    // 160 bytes of sound travel as about 300.
    expect(ended[0]!.durationMs).toBeLessThanOrEqual((MAX_BUFFERED_BYTES / 250) * 20);
    expect(desk.activeCalls).toBe(0);
    expect(fake.session.isOpen).toBe(false);
    await clock.advance(5000);
    expect(clock.pendingTimers).toBe(0);
  });
});
