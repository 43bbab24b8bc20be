import { beforeAll, describe, expect, it } from 'vitest';
import { loadAudio, MAX_PACER_MS } from '../../src/audio/index.ts';
import { MAX_REST_MS, Output, REST_OVERLAP_MS } from '../../src/call/output.ts';
import { KEEP_SENT_MS, SentFrames } from '../../src/call/sent-frames.ts';
import { LEG_CAPABILITIES, ManualClock, TestLeg } from './harness.ts';

beforeAll(() => loadAudio());

const item = (itemId: string) => ({ itemId, source: 'model', responseId: 'r' }) as const;
const audio = (ms: number) => new Uint8Array(ms * 8).fill(0x20);

function openOutput() {
  const clock = new ManualClock();
  const output = new Output(LEG_CAPABILITIES, { itemStarted: () => {}, itemHeard: () => {} });
  const leg = new TestLeg(clock, []);
  output.attach(leg);
  leg.on('played', (mark) => output.played(mark, clock.now()));
  return {
    clock,
    output,
    leg,
    play(ms: number) {
      for (let left = ms; left > 0; left -= 20) {
        output.tick(clock.now());
        clock.advance(20);
      }
    },
  };
}

describe('what is kept of an interrupted answer', () => {
  it('is what was not heard, from a little before the cut, item by item', () => {
    const { clock, output, play } = openOutput();
    output.pushRaw(item('a'), audio(2000), 0);
    output.end('a');
    output.pushRaw(item('b'), audio(1000), 0);
    play(1200);

    const { ended, rests } = output.interrupt(clock.now(), () => true);

    expect(rests.map((rest) => [rest.itemId, rest.complete])).toEqual([
      ['a', true],
      ['b', false],
    ]);
    const heard = ended[0]!.heardMs;
    expect(heard).toBeGreaterThan(1100);
    expect(output.durationOf(rests[0]!.audio)).toBeGreaterThanOrEqual(2000 - heard + REST_OVERLAP_MS - 20);
    expect(output.durationOf(rests[0]!.audio)).toBeLessThanOrEqual(2000 - heard + REST_OVERLAP_MS + 20);
    expect(output.durationOf(rests[1]!.audio)).toBe(1000);
  });

  it('is nothing of the items that nobody wants', () => {
    const { clock, output, play } = openOutput();
    output.pushRaw(item('a'), audio(1000), 0);
    play(200);

    expect(output.interrupt(clock.now()).rests).toEqual([]);
  });

  it('has a bound, and what is over it is not called complete', () => {
    const { clock, output, play } = openOutput();
    output.pushRaw(item('long'), audio(MAX_REST_MS + 20_000), 0);
    output.end('long');
    output.pushRaw(item('behind'), audio(1000), 0);
    output.end('behind');
    play(400);

    const { rests } = output.interrupt(clock.now(), () => true);

    expect(output.durationOf(rests[0]!.audio)).toBe(MAX_REST_MS);
    expect(rests.map((rest) => rest.complete)).toEqual([false, false]);
    expect(rests[1]!.audio.byteLength).toBe(0);
    expect(MAX_PACER_MS).toBeGreaterThan(MAX_REST_MS);
  });
});

describe('the frames that were sent', () => {
  const paced = (itemId: string) => ({ itemId, frame: new Uint8Array(160), last: false });

  it('are kept for a bounded time', () => {
    const sent = new SentFrames(20, 160);
    for (let at = 0; at < KEEP_SENT_MS + 1000; at += 20) sent.add(paced('a'), at);

    expect(sent.count).toBe(KEEP_SENT_MS / 20);
    // Of what is forgotten, nothing can be sent again; what is kept begins later.
    expect(sent.startOf('a', 0)).toBe(1000);
    expect(sent.startOf('b', 0)).toBe(Number.POSITIVE_INFINITY);
    expect(sent.takeBack()).toHaveLength(KEEP_SENT_MS / 20);
    expect(sent.count).toBe(0);
  });

  it('come back from the one in which the playhead stood', () => {
    const sent = new SentFrames(20, 160);
    for (let at = 0; at < 100; at += 20) sent.add(paced('a'), at);

    expect(sent.startOf('a', 50)).toBe(40);
    expect(sent.takeBack()).toHaveLength(3);
  });

  it('are the right ones after any mixture of sending, forgetting and growing', () => {
    const sent = new SentFrames(20, 2);
    let expected: number[] = [];
    for (let n = 0; n < 2000; n += 1) {
      sent.add({ itemId: 'a', frame: new Uint8Array([n & 0xff, n >> 8]), last: false }, n * 20);
      expected.push(n);
      expected = expected.slice(-KEEP_SENT_MS / 20);
      if (n % 97 === 0) {
        const newest = n % 40;
        sent.keep(newest);
        expected = newest === 0 ? [] : expected.slice(-newest);
      }
      if (n % 500 !== 499) continue;

      const kept = sent.from('a', 0).map(([low = 0, high = 0]) => low + high * 256);

      expect(kept).toEqual(expected);
    }
  });
});
