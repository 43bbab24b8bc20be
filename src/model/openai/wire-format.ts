/**
 * Audio formats as the dialect writes them down.
 *
 * @module
 */

import { z } from 'zod';
import { type AudioFormat, PCMU_8K, type SampleRate } from '../../audio/index.ts';

export type WireFormat =
  | { readonly type: 'audio/pcm'; readonly rate: number }
  | { readonly type: 'audio/pcmu' }
  | { readonly type: 'audio/pcma' };

const RATES: readonly SampleRate[] = [8000, 16000, 24000, 48000];
/** What `audio/pcm` means without a `rate`. */
const DEFAULT_PCM_RATE = 24000;

const wireFormatSchema = z.object({ type: z.string(), rate: z.number().nullish() });

export function toWireFormat(format: AudioFormat): WireFormat {
  switch (format.encoding) {
    case 'pcm16':
      return { type: 'audio/pcm', rate: format.sampleRate };
    case 'pcmu':
      return { type: 'audio/pcmu' };
    case 'pcma':
      return { type: 'audio/pcma' };
    default:
      return format.encoding satisfies never;
  }
}

/** The format that a server acknowledged; `null` when it is none that we can play. */
export function fromWireFormat(value: unknown): AudioFormat | null {
  const parsed = wireFormatSchema.safeParse(value);
  if (!parsed.success) return null;
  const { type, rate } = parsed.data;
  switch (type) {
    case 'audio/pcmu':
      return rate == null || rate === 8000 ? PCMU_8K : null;
    case 'audio/pcma':
      return rate == null || rate === 8000 ? { encoding: 'pcma', sampleRate: 8000 } : null;
    case 'audio/pcm': {
      const sampleRate = RATES.find((each) => each === (rate ?? DEFAULT_PCM_RATE));
      return sampleRate === undefined ? null : { encoding: 'pcm16', sampleRate };
    }
    default:
      return null;
  }
}
