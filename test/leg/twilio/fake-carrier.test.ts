import { describe, expect, it } from 'vitest';
import type { LegCloseReason } from '../../../src/leg/index.ts';
import { acceptTwilioStream, TwilioLeg } from '../../../src/leg/twilio/index.ts';
import { FakeCarrier, FakeClock } from '../../../src/testing/index.ts';

const SECOND = new Uint8Array(8000).fill(0x2a);

function answeredCall() {
  const clock = new FakeClock();
  const { carrier, socket } = FakeCarrier.inMemory({ clock });
  const legs: TwilioLeg[] = [];
  acceptTwilioStream(socket, clock, {
    started: (start) => legs.push(new TwilioLeg({ socket, start, clock })),
    failed: (reason) => {
      throw new Error(reason);
    },
  });
  carrier.start();
  const leg = async () => {
    await clock.waitFor('the stream to start', () => legs.length === 1);
    return legs[0]!;
  };
  return { clock, carrier, leg };
}

describe('a Twilio leg on a carrier that refuses what Twilio would refuse', () => {
  it('plays a second of audio, and hears of its end when the caller has heard it', async () => {
    const { clock, carrier, leg: answered } = answeredCall();
    const leg = await answered();
    const played: number[] = [];
    leg.on('played', () => played.push(carrier.nowMs));
    const startedAt = carrier.nowMs;
    for (let at = 0; at < SECOND.length; at += 160) leg.send('item', SECOND.subarray(at, at + 160));
    leg.mark('end');
    await clock.waitFor('the mark', () => played.length === 1);
    expect((played[0] ?? 0) - startedAt).toBeGreaterThanOrEqual(1000);
    expect((played[0] ?? 0) - startedAt).toBeLessThan(1100);
    carrier.assertClean();
  });

  it('is silent at once on clear, and tells nobody that the rest was heard', async () => {
    const { clock, carrier, leg: answered } = answeredCall();
    const leg = await answered();
    const played: string[] = [];
    leg.on('played', (mark) => played.push(mark));
    leg.send('item', SECOND);
    leg.mark('never');
    await clock.advance(300);
    leg.clear();
    leg.mark('next');
    await clock.advance(1000);
    expect(carrier.queuedMs).toBe(0);
    expect(carrier.echoed.map(({ cleared }) => cleared)).toEqual([true, false]);
    expect(played).toEqual(['next']);
    expect(carrier.heardSegments().at(-1)?.endMs).toBeLessThan(450);
    carrier.assertClean();
  });

  it('hands on a second for each second, through a hold of three and back', async () => {
    const { clock, carrier, leg: answered } = answeredCall();
    const leg = await answered();
    let frames = 0;
    leg.on('audio', () => {
      frames += 1;
    });
    await clock.advance(1000);
    carrier.pauseMedia();
    await clock.advance(3000);
    carrier.resumeMedia();
    await clock.advance(1000);
    expect(Math.abs(frames * 20 - 5000)).toBeLessThanOrEqual(100);
  });

  it('gives a caller up whose carrier does not read any more', async () => {
    const { clock, carrier, leg: answered } = answeredCall();
    const leg = await answered();
    const reasons: LegCloseReason[] = [];
    leg.on('closed', (reason) => reasons.push(reason));
    carrier.stallReading();
    for (let second = 0; second < 200 && reasons.length === 0; second += 1) {
      leg.send('item', SECOND);
      await clock.advance(50);
    }
    expect(reasons).toEqual(['backpressure']);
  });

  it('knows a hang-up from a broken line', async () => {
    for (const [end, reason] of [
      ['hangup', 'caller_hangup'],
      ['reset', 'connection_lost'],
    ] as const) {
      const { clock, carrier, leg: answered } = answeredCall();
      const leg = await answered();
      const reasons: LegCloseReason[] = [];
      leg.on('closed', (each) => reasons.push(each));
      carrier[end]();
      await clock.advance(100);
      expect(reasons).toEqual([reason]);
      expect(clock.pendingTimers).toBe(0);
    }
  });
});
