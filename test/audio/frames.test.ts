import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameSplitter, PCM16_16K, PCMU_8K } from '../../src/audio/index.ts';

describe('a frame splitter', () => {
  it('makes whole frames of chunks of any size, and loses and invents no byte', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.array(fc.uint8Array({ maxLength: 90 }), { maxLength: 12 }),
        (frameBytes, chunks) => {
          const splitter = new FrameSplitter(frameBytes, PCMU_8K);
          const frames = chunks.flatMap((chunk) => splitter.push(chunk));
          const input = Buffer.concat(chunks);
          expect(frames.every((frame) => frame.length === frameBytes)).toBe(true);
          expect(splitter.pendingBytes).toBe(input.length % frameBytes);
          const last = splitter.flush();
          const output = Buffer.concat(last ? [...frames, last] : frames);
          expect(output.subarray(0, input.length)).toEqual(input);
          expect(output.length - input.length).toBeLessThan(frameBytes);
          expect([...output.subarray(input.length)].every((byte) => byte === 0xff)).toBe(true);
        },
      ),
    );
  });

  it('pads the last frame with the silence of its format', () => {
    const splitter = new FrameSplitter(4, PCM16_16K);
    splitter.push(new Uint8Array([1]));
    expect(splitter.flush()).toEqual(new Uint8Array([1, 0, 0, 0]));
    expect(splitter.flush()).toBeNull();
  });

  it('is not changed by a caller who reuses the chunk', () => {
    const splitter = new FrameSplitter(4, PCMU_8K);
    const chunk = new Uint8Array([1, 2, 3]);
    splitter.push(chunk);
    chunk.fill(9);
    expect(splitter.push(new Uint8Array([4]))).toEqual([new Uint8Array([1, 2, 3, 4])]);
  });

  it('refuses a frame of no size', () => {
    expect(() => new FrameSplitter(0, PCMU_8K)).toThrow(RangeError);
  });
});
