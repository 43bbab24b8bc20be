import { describe, expect, it } from 'vitest';
import { pcm16ToSamples, samplesToPcm16 } from '../../../src/audio/index.ts';
import { MAX_PLAYOUT_MARKS, MAX_PLAYOUT_MS, Playout } from '../../../src/leg/page/index.ts';

const FRAME = 960;
const frame = (value: number) => samplesToPcm16(new Int16Array(480).fill(value));
const frames = (...values: number[]) => Buffer.concat(values.map(frame));

function rig(delayMs = 0) {
  const out: { value: number | null; at: number }[] = [];
  const played: string[] = [];
  const playout = new Playout(FRAME, {
    frame: (pcm, at) => out.push({ value: pcm ? pcm16ToSamples(pcm).at(-1)! : null, at }),
    played: (mark) => played.push(mark),
    delayMs,
  });
  const run = (from: number, to: number, every = 20) => {
    for (let now = from; now <= to; now += every) playout.tick(now);
  };
  const spoken = () => out.flatMap(({ value }) => (value === null ? [] : [value]));
  return { playout, out, played, run, spoken };
}

describe('the playout clock', () => {
  it('plays 20 ms every 20 ms, each at its place, however uneven the ticks', () => {
    const { playout, out, spoken } = rig();
    playout.tick(0);
    playout.push(frames(1, 2, 3, 4, 5, 6), 5);
    for (const now of [21, 39, 62, 78, 101, 120, 140]) playout.tick(now);
    expect(spoken()).toEqual([1, 2, 3, 4, 5, 6]);
    const times = out.filter(({ value }) => value !== null).map(({ at }) => at);
    expect(times.map((at) => at - times[0]!)).toEqual([0, 20, 40, 60, 80, 100]);
  });

  it('makes up for a tick that came late, without a gap', () => {
    const { playout, spoken } = rig();
    playout.tick(0);
    playout.push(frames(1, 2, 3, 4, 5), 1);
    playout.tick(100);
    expect(spoken()).toEqual([1, 2, 3, 4, 5]);
  });

  it('does not wait for a tick when the line was quiet', () => {
    const { playout, run, spoken } = rig();
    run(0, 200);
    playout.push(frames(7), 209);
    expect(spoken()).toEqual([7]);
  });

  it('gives speech that is a little late its own place, and silence only what nothing fills', () => {
    const { playout, run, out } = rig();
    playout.tick(0);
    playout.push(frames(1), 0);
    playout.tick(20);
    playout.push(frames(2), 35);
    run(40, 120);
    expect(out.map(({ value }) => value).slice(0, 2)).toEqual([1, 2]);
    expect(out[1]!.at - out[0]!.at).toBe(20);
    expect(out.at(-1)).toEqual({ value: null, at: 100 });
  });

  it('gives a mark back when the audio before it was heard', () => {
    const { playout, played, run } = rig(50);
    playout.tick(0);
    playout.push(frames(1, 2), 0);
    playout.mark('m1', 0);
    run(20, 80);
    expect(played).toEqual([]);
    run(100, 100);
    expect(played).toEqual(['m1']);
  });

  it('gives a mark without audio back after the delay alone', () => {
    const { playout, played, run } = rig(50);
    run(0, 100);
    playout.mark('m1', 100);
    run(120, 140);
    expect(played).toEqual([]);
    run(160, 180);
    expect(played).toEqual(['m1']);
  });

  it('drops what waits, and every mark, when it is cleared', () => {
    const { playout, played, run, spoken } = rig(50);
    playout.tick(0);
    playout.push(frames(1, 2, 3), 0);
    playout.mark('m1', 0);
    playout.clear();
    run(20, 400);
    expect(spoken()).toEqual([1]);
    expect(played).toEqual([]);
    expect(playout.queuedMs).toBe(0);
  });

  it('refuses more than its bound', () => {
    const { playout } = rig();
    for (let ms = 0; ms < MAX_PLAYOUT_MS; ms += 20) expect(playout.push(frames(1), 0)).toBe(true);
    expect(playout.push(frames(1), 0)).toBe(false);
    expect(playout.queuedMs).toBe(MAX_PLAYOUT_MS);
  });

  it('keeps no more marks than its bound', () => {
    const { playout, played, run } = rig();
    playout.push(frames(1), 0);
    for (let n = 0; n < 10_000; n += 1) playout.mark(`m${n}`, 0);
    run(0, 100);
    expect(played.length).toBeLessThanOrEqual(MAX_PLAYOUT_MARKS + MAX_PLAYOUT_MS / 20);
  });

  it('turns the volume down over one frame, and leaves full volume untouched', () => {
    const { playout, out } = rig();
    const loud: number[][] = [];
    const ramp = new Playout(FRAME, {
      frame: (pcm) => {
        if (pcm) loud.push([...pcm16ToSamples(pcm)]);
      },
      played: () => {},
      delayMs: 0,
    });
    ramp.push(frames(1000, 1000, 1000), 0);
    ramp.tick(0);
    ramp.setGain(0.3);
    ramp.tick(20);
    ramp.tick(40);
    expect(loud[0]!.every((each) => each === 1000)).toBe(true);
    expect(loud[1]![0]).toBeGreaterThan(990);
    expect(loud[1]!.at(-1)).toBe(300);
    expect(loud[2]!.every((each) => each === 300)).toBe(true);
    expect(out).toEqual([]);
    playout.clear();
  });

  it('starts from now after the process was held up', () => {
    const { playout, out } = rig();
    playout.tick(0);
    playout.tick(5000);
    expect(out.length).toBeLessThan(5);
  });
});
