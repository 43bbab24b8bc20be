// Elsewhere: an adapter knew how to interrupt the model but never told the carrier, so the caller heard seconds more of
// an answer they had talked over.

import { describe, expect, it } from 'vitest';
import { say } from '../../src/testing/index.ts';
import { hangUp, placeCall } from './line.ts';

describe('bug 4: an answer that is still being generated', () => {
  it('is cleared from the line within one frame of the decision, under this stream’s own id, and stays away', async () => {
    const line = await placeCall({
      config: { greeting: 'A long story.' },
      turns: ({ index }) => (index === 0 ? [say('A long story.', { durationMs: 20_000 })] : []),
      model: { timing: { speed: 1.2 } },
    });
    const { carrier, clock, fake } = line;
    await clock.drive(carrier.whenAgentSpeaks());
    await clock.advance(1500);
    expect(fake.session.activeResponseId).not.toBeNull();

    const decidedAt = carrier.nowMs;
    fake.session.startSpeech();
    await clock.advance(20);

    const clears = carrier.received.filter(({ event }) => event === 'clear');
    expect(clears).toHaveLength(1);
    expect(clears[0]!.atMs - decidedAt).toBeLessThanOrEqual(20);
    expect(carrier.queuedMs).toBe(0);
    await clock.advance(3000);
    const after = carrier.received.slice(carrier.received.indexOf(clears[0]!) + 1);
    expect(after).toEqual([]);
    // Of another stream's id the carrier would have complained, which `hangUp` checks.
    await hangUp(line);
  });
});
