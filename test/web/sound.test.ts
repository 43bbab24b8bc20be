import { describe, expect, it } from 'vitest';
import { follow, LevelHistory, levelOf } from '../../web/talk/level.ts';
import {
  FrameCutter,
  PlayoutBuffer,
  Resampler,
  SOCKET_FRAME_SAMPLES,
  SOCKET_RATE,
} from '../../web/talk/pcm.ts';

const tone = (hz: number, rate: number, samples: number, loud = 0.5) =>
  Float32Array.from({ length: samples }, (_, i) => loud * Math.sin((2 * Math.PI * hz * i) / rate));
const rms = (samples: Float32Array) =>
  Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
/** In blocks of an audio worklet. */
function inBlocks(resampler: Resampler, input: Float32Array): Float32Array {
  const blocks: number[] = [];
  for (let at = 0; at < input.length; at += 128) blocks.push(...resampler.push(input.subarray(at, at + 128)));
  return Float32Array.from(blocks);
}

describe('the change of rate', () => {
  it.each([48_000, 44_100, 16_000, 96_000])('from %i Hz keeps length and loudness of speech', (rate) => {
    const output = inBlocks(new Resampler(rate, SOCKET_RATE), tone(1000, rate, rate));

    expect(Math.abs(output.length - SOCKET_RATE)).toBeLessThan(SOCKET_RATE / 500);
    expect(rms(output.subarray(1000, -1000))).toBeCloseTo(0.5 / Math.SQRT2, 2);
  });

  it('gives the same whatever blocks the sound comes in', () => {
    const input = tone(700, 48_000, 12_800);

    const whole = new Resampler(48_000, SOCKET_RATE).push(input);
    const parts = inBlocks(new Resampler(48_000, SOCKET_RATE), input);

    expect(parts.length).toBe(whole.length);
    expect(Math.max(...parts.map((sample, i) => Math.abs(sample - (whole[i] ?? 0))))).toBeLessThan(1e-5);
  });

  it('lets nothing through that the lower rate can not hold', () => {
    const output = inBlocks(new Resampler(48_000, 16_000), tone(11_000, 48_000, 48_000));

    expect(20 * Math.log10(rms(output.subarray(500, -500)) / 0.35)).toBeLessThan(-45);
  });
});

describe('frames', () => {
  it('are 20 ms each, whatever comes in, and clip what is too loud', () => {
    const frames: Int16Array[] = [];
    const cutter = new FrameCutter(SOCKET_FRAME_SAMPLES);

    for (let i = 0; i < 10; i++)
      cutter.push(new Float32Array(200).fill(i < 5 ? 2 : -2), (frame) => frames.push(frame));

    expect(frames.map(({ length }) => length)).toEqual([480, 480, 480, 480]);
    expect(frames[0]?.[0]).toBe(32_767);
    expect(frames[3]?.[479]).toBe(-32_767);
    expect(new Set(frames).size).toBe(4);
  });
});

describe('sound that waits to be played', () => {
  const block = (value = 0.5, size = 128) => new Float32Array(size).fill(value);
  const read = (buffer: PlayoutBuffer) => {
    const output = new Float32Array(128);
    buffer.read(output);
    return output;
  };

  it('begins only when a little is there, and again after it ran dry', () => {
    const buffer = new PlayoutBuffer(4096, 256);

    buffer.write(block());
    expect(rms(read(buffer))).toBe(0);
    buffer.write(block());
    expect(rms(read(buffer))).toBeCloseTo(0.5);
    read(buffer);
    expect(rms(read(buffer))).toBe(0);
    expect(buffer.underruns).toBe(1);
    buffer.write(block());
    expect(rms(read(buffer))).toBe(0);
  });

  it('waits for more after each time that it ran dry, up to a bound', () => {
    const buffer = new PlayoutBuffer(8192, 128);
    const waits: number[] = [];
    for (let n = 0; n < 6; n++) {
      let blocks = 0;
      for (let output = read(buffer); rms(output) === 0; output = read(buffer)) {
        buffer.write(block());
        blocks++;
      }
      waits.push(blocks);
      while (rms(read(buffer)) > 0);
    }

    expect(waits).toEqual([1, 2, 3, 4, 4, 4]);
  });

  it('gives everything in order over the end of its ring', () => {
    const buffer = new PlayoutBuffer(300, 0);
    const heard: number[] = [];
    for (let n = 0; n < 20; n++) {
      buffer.write(Float32Array.from({ length: 128 }, (_, i) => n * 128 + i));
      heard.push(...read(buffer));
    }

    expect(heard).toEqual(Array.from({ length: 2560 }, (_, i) => i));
  });

  it('is bounded, and catches up in the pauses', () => {
    const buffer = new PlayoutBuffer(1000, 0, 256);
    for (let i = 0; i < 20; i++) buffer.write(block());
    expect(buffer.length).toBe(1000);

    buffer.clear();
    for (let i = 0; i < 3; i++) buffer.write(block());
    buffer.write(block(0));
    expect(buffer.length).toBe(384);
    buffer.write(block(0.2));
    expect(buffer.length).toBe(512);
  });
});

describe('the level', () => {
  it('is even in steps of loudness, 0 for silence and 1 for loud', () => {
    expect(levelOf(new Float32Array(100))).toBe(0);
    expect(levelOf(new Float32Array(0))).toBe(0);
    expect(levelOf(new Float32Array(100).fill(1))).toBe(1);
    const [a, b, c] = [0.01, 0.03162, 0.1].map((loud) => levelOf(new Float32Array(100).fill(loud)));
    expect((b ?? 0) - (a ?? 0)).toBeCloseTo((c ?? 0) - (b ?? 0), 2);
  });

  it('rises at once and falls slowly, never below nothing', () => {
    expect(follow(0.2, 0.8, 16)).toBe(0.8);
    expect(follow(0.8, 0, 35)).toBeCloseTo(0.7);
    expect(follow(0.01, 0, 1000)).toBe(0);
  });

  it('is remembered for a fixed time, oldest first', () => {
    const history = new LevelHistory(3);
    for (const level of [0.25, 0.5, 0.75, 1]) history.push(level);

    expect([0, 1, 2].map((index) => history.at(index))).toEqual([0.5, 0.75, 1]);
  });
});
