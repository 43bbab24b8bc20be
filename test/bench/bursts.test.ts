/** The measure that Pipecat is measured by (bench/pipecat): a mistake here would be a wrong figure about someone else. */

import { beforeAll, describe, expect, it } from 'vitest';
import { BurstListener, beginsBurst, burstFrames, type Heard, pair } from '../../bench/pipecat/bursts.ts';
import { oneWay } from '../../bench/pipecat/ends.ts';
import { summaryOf } from '../../bench/pipecat/onsets.ts';
import {
  concatSamples,
  decodeG711,
  encodeG711,
  loadAudio,
  OpusDecoder,
  OpusEncoder,
  resample,
} from '../../src/audio/index.ts';

const FRAME_US = 20_000;
const PERIOD_US = 100_000;

/** What is heard of `frames`, each arriving when it is due. */
function listen(frames: readonly Int16Array[], sampleRate: number, everyUs = FRAME_US): Heard[] {
  const heard: Heard[] = [];
  const listener = new BurstListener(sampleRate, (each) => heard.push(each));
  for (const [n, frame] of frames.entries()) listener.push(frame, n * everyUs);
  return heard;
}

const call = (sampleRate: number, rounds = 2) =>
  Array.from({ length: rounds }, () => burstFrames(sampleRate)).flat();
const pitches = (heard: readonly Heard[]) => heard.map(({ pitch }) => pitch);
/** All but the first, before which nothing was quiet. */
const ALL = [1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7];

beforeAll(() => loadAudio());

describe('a burst', () => {
  it.each([8000, 24_000])('is heard when its first sample is played, by its pitch, at %i Hz', (rate) => {
    const heard = listen(call(rate), rate);

    expect(pitches(heard)).toEqual(ALL);
    for (const [n, { atUs }] of heard.entries()) {
      expect(atUs - (n + 1) * PERIOD_US).toBeGreaterThanOrEqual(0);
      expect(atUs - (n + 1) * PERIOD_US).toBeLessThan(400);
    }
  });

  it('is heard within a chunk where it lies in it, so that longer chunks are no advantage', () => {
    const frames = call(8000);
    // 40 ms at once, when both frames are there: a frame later than the first of them was.
    const chunks = frames.flatMap((frame, n) =>
      n % 2 === 1 ? [concatSamples([frames[n - 1] ?? frame, frame])] : [],
    );
    const heard: Heard[] = [];
    const listener = new BurstListener(8000, (each) => heard.push(each));
    for (const [n, chunk] of chunks.entries()) listener.push(chunk, (2 * n + 1) * FRAME_US);

    for (const [n, { atUs }] of heard.entries())
      expect(Math.round((atUs - (n + 1) * PERIOD_US) / 1000)).toBe(20);
    expect(pitches(heard)).toEqual(ALL);
  });

  it('is played when what came before it has been', () => {
    const heard: Heard[] = [];
    const listener = new BurstListener(8000, (each) => heard.push(each));
    for (const [n, frame] of call(8000).entries()) listener.push(frame, n * FRAME_US, n * FRAME_US + 35_000);

    expect(heard.map(({ atUs, playedUs }) => playedUs - atUs)).toEqual(ALL.map(() => 35_000));
  });

  it('survives µ-law and a change of its rate', () => {
    const telephone = call(8000).map((frame) => decodeG711(encodeG711(frame, 'pcmu'), 'pcmu'));
    const whole = resample(concatSamples(telephone), 8000, 24_000);
    const frames = Array.from({ length: telephone.length }, (_, n) => whole.slice(n * 480, (n + 1) * 480));

    expect(pitches(listen(frames, 24_000))).toEqual(ALL);
  });

  it('survives Opus, later by what the encoder looks ahead', () => {
    const encoder = new OpusEncoder({
      sampleRate: 24_000,
      bitrate: 24_000,
      fec: true,
      expectedLossPercent: 0,
    });
    const decoder = new OpusDecoder(24_000);
    const heard = listen(
      call(24_000).map((frame) => decoder.decode(Uint8Array.from(encoder.encode(frame)))),
      24_000,
    );

    expect(pitches(heard)).toEqual(ALL);
    for (const [n, { atUs }] of heard.entries())
      expect(Math.round((atUs - (n + 1) * PERIOD_US) / 500) / 2).toBe(6.5);
  });

  it('is no click, no noise and no other tone', () => {
    const silence = new Int16Array(480);
    const click = Int16Array.from(silence, (_, i) => (i < 20 ? 20_000 : 0));
    let seed = 1;
    const noise = Int16Array.from(silence, () => {
      seed = (seed * 48_271) % 2_147_483_647;
      return (seed % 40_000) - 20_000;
    });
    const hum = Int16Array.from(silence, (_, i) => 12_000 * Math.sin((2 * Math.PI * 100 * i) / 24_000));
    const sounds = [click, noise, hum].flatMap((sound) => [silence, sound, silence]);

    expect(listen(sounds, 24_000)).toEqual([]);
  });
});

describe('pairing what was said with what was heard', () => {
  const sentUs = Array.from({ length: 30 }, (_, n) => n * PERIOD_US);
  const ALWAYS = [0, Number.POSITIVE_INFINITY] as const;
  const heardAfter = (lateUs: number, which = [...sentUs.keys()]): Heard[] =>
    which.map((n) => {
      const atUs = (sentUs[n] ?? 0) + lateUs;
      return { pitch: n % 8, atUs, playedUs: atUs + 1000 };
    });

  it('finds each one’s own delay', () => {
    const found = pair(sentUs, heardAfter(5000), ALWAYS, 3_000_000);

    expect(found).toEqual({
      latenciesUs: sentUs.map(() => 5000),
      untilPlayedUs: sentUs.map(() => 6000),
      lost: 0,
      pending: 0,
    });
  });

  it('takes a delay of more than all the pitches for what it is', () => {
    const found = pair(sentUs, heardAfter(1_250_000), ALWAYS, 5_000_000);

    expect(new Set(found.latenciesUs)).toEqual(new Set([1_250_000]));
    expect(found).toMatchObject({ lost: 0, pending: 0 });
  });

  it('counts what is missing as lost, and nothing else as late', () => {
    const without = [...sentUs.keys()].filter((n) => n !== 7 && n !== 12 && n !== 13);
    const found = pair(sentUs, heardAfter(5000, without), ALWAYS, 3_000_000);

    expect(found).toMatchObject({
      latenciesUs: Array.from({ length: 27 }, () => 5000),
      lost: 3,
      pending: 0,
    });
  });

  it('leaves out a pitch that was not understood', () => {
    const heard = heardAfter(5000).map((each, n) => (n === 3 ? { ...each, pitch: 1 } : each));

    expect(pair(sentUs, heard, ALWAYS, 3_000_000)).toMatchObject({ lost: 1, pending: 0 });
  });

  it('counts what is still on its way as late as it is by then', () => {
    const { latenciesUs, lost, pending } = pair(sentUs, heardAfter(5000).slice(0, 20), ALWAYS, 3_000_000);

    // The last ones left less than 300 ms ago.
    expect({ lost, pending }).toEqual({ lost: 0, pending: 8 });
    expect(Math.max(...latenciesUs)).toBe(1_000_000);
  });

  it('counts only what left within the window', () => {
    const heard = heardAfter(5000, [0, 1, 2, 5, 6, 7, 8, 9, 11, 12]);

    expect(pair(sentUs, heard, [600_000, 1_200_000], 1_300_000)).toMatchObject({
      latenciesUs: [5000, 5000, 5000, 5000, 5000],
      lost: 1,
      pending: 0,
    });
  });
});

describe('two ends of some calls', () => {
  const empty = { sentUs: [], heard: [], sentMs: 0, heardMs: 0 };
  const nothing = { ends: [empty, empty], readUs: 0, refused: 0 };

  it('tells a server that falls behind by the sound that did not come', () => {
    const sentUs = Array.from({ length: 20 }, (_, n) => n * PERIOD_US);
    const heard = sentUs.map((at, n) => ({ pitch: n % 8, atUs: at + 3000, playedUs: at + 3000 }));
    const said = { ...empty, sentUs, sentMs: 2000 };
    const from = { ends: [said, said], readUs: 2_000_000, refused: 0 };
    const to = {
      ends: [
        { ...empty, heard, heardMs: 2000 },
        { ...empty, heard: heard.slice(0, 10), heardMs: 1000 },
      ],
      readUs: 2_000_000,
      refused: 0,
    };

    const found = oneWay(from, to, { from: nothing, to: nothing });

    expect(found).toMatchObject({ share: 0.75, lost: 0, pending: 8 });
    expect(found.latency.n).toBe(38);
    const ok = {
      up: found.latency,
      down: found.latency,
      played: found.untilPlayed,
      cpuPerCall: 0.1,
      memoryPerCallKiB: 1,
      lost: 0,
    };
    const run = { ...ok, bursts: 38, dropped: 0, shareUp: 1, shareDown: found.share, load: 0 };
    const contestant = {
      id: 'ours',
      name: 'ours',
      start: () => Promise.reject(new Error('Not here.')),
    } as const;
    expect(summaryOf(contestant, 2, [run]).saturated).toBe(true);
    expect(summaryOf(contestant, 2, [{ ...run, shareDown: 1 }]).saturated).toBe(false);
    expect(summaryOf(contestant, 2, [{ ...run, shareDown: 1 }, null]).saturated).toBe(true);
    expect(summaryOf(contestant, 2, [{ ...run, shareDown: 1, lost: 1 }]).saturated).toBe(false);
    // Sound that was made up in place of what was lost.
    expect(summaryOf(contestant, 2, [{ ...run, shareDown: 1, lost: 2 }]).saturated).toBe(true);
  });
});

it('begins a burst with every fifth frame, and frames of tone and of silence alternate accordingly', () => {
  const loud = burstFrames(8000).map((frame) => Math.max(...frame) > 10_000);

  expect(loud).toEqual(loud.map((_, n) => n % 5 < 2));
  expect(loud.map((_, n) => beginsBurst(n))).toEqual(loud.map((_, n) => n % 5 === 0));
});
