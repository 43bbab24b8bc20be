import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeG711,
  encodeG711,
  type OpusContainer,
  readAudioFile,
  readWav,
  wavHeader,
  writeWav,
} from '../../src/audio/index.ts';
import { isVoiceError } from '../../src/errors.ts';
import { sine, toneLevelDb } from './signals.ts';

const fixture = (name: string) => fileURLToPath(new URL(`../../fixtures/opus/${name}`, import.meta.url));

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return 'nothing was thrown';
  } catch (error) {
    return isVoiceError(error) ? error.code : String(error);
  }
}

describe('a WAV file', () => {
  it('comes back as it was written, mono and stereo', () => {
    const left = sine(440, 8000, 0.1);
    const right = sine(880, 8000, 0.1);
    expect(readWav(writeWav({ sampleRate: 8000, channels: [left] })).channels).toEqual([left]);
    const stereo = readWav(writeWav({ sampleRate: 24_000, channels: [left, right] }));
    expect(stereo).toEqual({ encoding: 'pcm16', sampleRate: 24_000, channels: [left, right] });
  });

  it.each(['pcmu', 'pcma'] as const)('carries %s', (encoding) => {
    const samples = sine(440, 8000, 0.1).subarray(1); // an odd length wants a pad byte
    const file = readWav(writeWav({ sampleRate: 8000, channels: [samples], encoding }));
    expect(file.encoding).toBe(encoding);
    expect(file.channels).toEqual([decodeG711(encodeG711(samples, encoding), encoding)]);
  });

  it('of two channels is read as their mean, and the shorter channel is filled up', async () => {
    const bytes = writeWav({ sampleRate: 8000, channels: [Int16Array.of(100, 200), Int16Array.of(300)] });
    expect((await readAudioFile(bytes)).samples).toEqual(Int16Array.of(200, 100));
  });

  it('whose recorder died before it wrote the size is read to its end', () => {
    const header = wavHeader({ encoding: 'pcm16', channelCount: 1, sampleRate: 8000 }, 0xffffffff);
    const bytes = Buffer.concat([header, Buffer.from([1, 0, 2, 0])]);
    expect(readWav(bytes).channels).toEqual([Int16Array.of(1, 2)]);
  });

  it('with other chunks around is read past them', () => {
    const plain = Buffer.from(writeWav({ sampleRate: 8000, channels: [Int16Array.of(5, 6)] }));
    const list = Buffer.from('LIST\x03\0\0\0abc\0', 'latin1');
    const bytes = Buffer.concat([plain.subarray(0, 12), list, plain.subarray(12)]);
    expect(readWav(bytes).channels).toEqual([Int16Array.of(5, 6)]);
  });
});

describe('an Opus file', () => {
  it.each(['ogg', 'webm'] satisfies OpusContainer[])(
    'in %s is decoded at the rate asked for',
    async (container) => {
      const file = await readAudioFile(fixture(`tone-440hz.${container}`), { opusSampleRate: 16_000 });
      expect(file.sampleRate).toBe(16_000);
      // Ogg says where it ends; WebM keeps the encoder's padding.
      expect(file.samples.length).toBeGreaterThanOrEqual(16_000 - (container === 'ogg' ? 200 : 320));
      expect(file.samples.length).toBeLessThanOrEqual(16_000 + (container === 'ogg' ? 0 : 640));
      const level = toneLevelDb(file.samples.subarray(1600, 14_400), 440, 16_000);
      expect(level).toBeGreaterThan(-8);
      expect(level).toBeLessThan(-4);
    },
  );
});

describe('a file that is not audio we can read', () => {
  it.each([
    ['empty', new Uint8Array(0)],
    ['text', Buffer.from('hello, this is no audio at all')],
    ['a bare RIFF header', Buffer.from('RIFF\0\0\0\0WAVE')],
    ['a RIFF of another kind', Buffer.from('RIFF\0\0\0\0AVI LIST')],
    ['an Ogg page of nothing', Buffer.from('OggS')],
    ['an EBML header of nothing', Buffer.from([0x1a, 0x45, 0xdf, 0xa3])],
  ])('(%s) is AUDIO_FILE_INVALID', async (_, bytes) => {
    expect(await codeOf(readAudioFile(bytes))).toBe('AUDIO_FILE_INVALID');
  });

  it('because it does not exist is AUDIO_FILE_INVALID, without its path in the message', async () => {
    expect(await codeOf(readAudioFile('/nowhere/at/all.wav'))).toBe('AUDIO_FILE_INVALID');
    await expect(readAudioFile('/nowhere/at/all.wav')).rejects.not.toThrow(/nowhere/);
  });

  it('because it is cut off, or damaged anywhere, is AUDIO_FILE_INVALID or read, never anything else', async () => {
    const sources = [
      writeWav({ sampleRate: 8000, channels: [sine(440, 8000, 0.05)] }),
      writeWav({ sampleRate: 8000, channels: [sine(440, 8000, 0.05)], encoding: 'pcmu' }),
      readFileSync(fixture('tone-440hz.ogg')),
      readFileSync(fixture('tone-440hz.webm')),
    ];
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...sources),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.array(fc.tuple(fc.nat(400), fc.nat(255)), { maxLength: 4 }),
        async (source, keep, damage) => {
          const bytes = Uint8Array.from(source.subarray(0, Math.ceil(source.length * keep)));
          for (const [at, value] of damage) if (at < bytes.length) bytes[at] = value;
          const outcome = await codeOf(readAudioFile(bytes));
          expect(['nothing was thrown', 'AUDIO_FILE_INVALID']).toContain(outcome);
        },
      ),
      { numRuns: 200 },
    );
  });
});
