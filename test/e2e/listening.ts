/**
 * Ears for what a page played: cut at its pauses, recognised among decoys in competition with the phone loop, and compared
 * with the voice's own reading for holes that don't belong there.
 */
import { resample } from '../../src/audio/index.ts';
import type { Recogniser } from '../../src/speech/index.ts';

/** Sentences that nobody says, for the recogniser to fall for. */
export const DECOYS = [
  'call the doctor on tuesday',
  'the plane to london lands at eleven',
  'sell milk and butter',
  'where did you leave the key',
  'the weather is going to be fine',
  'he painted the house in green',
  'they never came back to the village',
  'open the window and close the door',
  'my brother works in a large office',
  'we have lost the first game',
  'please bring a chair from the kitchen',
  'she bought a pair of brown shoes',
  'nobody knows what happened here',
  'the river runs through the old town',
  'there was snow on the mountains',
  'take the second street on the left',
  'i would like a table for two',
  'the children are playing in the garden',
  'your order will arrive on friday',
  'this book has more than nine hundred pages',
  'the meeting was moved to another room',
] as const;

const RATE = 16_000;
const FRAME = 80;
/** Of a sentence's loudness: below it is a hole, or a stop in speech. -46 dB. */
const QUIET = 0.005;

export interface Utterance {
  readonly samples: Int16Array;
  /** Since the track's first sample. */
  readonly atMs: number;
}

function peak(samples: Int16Array): number {
  return samples.reduce((max, sample) => Math.max(max, Math.abs(sample)), 0);
}

/** One value for each 5 ms: whether it is as good as silent, beside the loudest that there is. */
function quietFrames(samples: Int16Array, loudest: number): boolean[] {
  return Array.from(
    { length: Math.floor(samples.length / FRAME) },
    (_, i) => peak(samples.subarray(i * FRAME, (i + 1) * FRAME)) < Math.max(8, loudest * QUIET),
  );
}

/** @param track - 48 kHz @param pauseMs - so much silence is between two sentences at least */
export function utterances(track: Int16Array, pauseMs = 110): Utterance[] {
  const samples = resample(track, 48_000, RATE);
  const quiet = quietFrames(samples, 16_000);
  const found: Utterance[] = [];
  let from = -1;
  let silent = 0;
  for (let i = 0; i <= quiet.length; i++) {
    silent = i === quiet.length ? Number.POSITIVE_INFINITY : quiet[i] ? silent + 5 : 0;
    if (silent === 0 && from < 0) from = i;
    if (from < 0 || silent < pauseMs) continue;
    const until = i === quiet.length ? quiet.length : i - silent / 5 + 1;
    if (until - from > 20)
      found.push({ samples: samples.slice(from * FRAME, until * FRAME), atMs: from * 5 });
    from = -1;
  }
  return found;
}

export async function recognise(
  recogniser: Recogniser,
  { samples }: Utterance,
  sentences: readonly string[],
): Promise<string | null> {
  const padded = new Int16Array(samples.length + RATE * 0.4);
  padded.set(samples, RATE * 0.2);
  const expression = [...sentences, ...DECOYS].join(' | ');
  return (await recogniser.recognise(padded, { id: `heard-${sentences.length}`, expression })).text;
}

/** Silent stretches, longest first, in ms; the ends don't count. */
export function stops(samples: Int16Array): number[] {
  const loudest = peak(samples);
  const quiet = quietFrames(samples, loudest);
  const first = quiet.indexOf(false);
  const last = quiet.lastIndexOf(false);
  const lengths: number[] = [];
  let length = 0;
  for (const each of quiet.slice(first, last + 1)) {
    if (each) length += 5;
    else if (length > 0) {
      lengths.push(length);
      length = 0;
    }
  }
  return lengths.sort((a, b) => b - a);
}

/** Where what was heard is silent for over 40 ms longer than the voice itself is: holes, in ms. */
export function holes(heard: Int16Array, reference: Int16Array): number[] {
  const own = stops(reference);
  return stops(heard)
    .map((length, index) => length - (own[index] ?? 0))
    .filter((extra) => extra > 40);
}
