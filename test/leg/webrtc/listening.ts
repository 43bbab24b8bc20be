/** How a recording that went through a bad network sounds beside the same one that did not. */

const FRAME = 480;
/** 200 ms. */
const MARGIN = 4800;

export interface Listening {
  /** Of the loudness of each 20 ms: 1 is the same course. */
  readonly envelopeCorrelation: number;
  /** Mean over the 20 ms with speech, each kept between -10 and 35 dB; it flatters no concealment. */
  readonly segmentalSnrDb: number;
  /** Share of the 20 ms with speech that came out within 3 dB of their loudness. */
  readonly intactShare: number;
  /** Times for which there was speech and next to nothing came out, over 40 ms each, in ms. */
  readonly gapsMs: readonly number[];
}

export function compare(clean: Int16Array, recording: Int16Array): Listening {
  // The first packet heard need not be the first one sent: the recording may begin earlier or later.
  const heard = new Int16Array(MARGIN + recording.length);
  heard.set(recording, MARGIN);
  const shift = bestShift(clean, heard);
  const count = Math.floor(Math.min(clean.length, heard.length - shift) / FRAME);
  const cleanDb: number[] = [];
  const heardDb: number[] = [];
  const snrs: number[] = [];
  let intact = 0;
  let spoken = 0;
  let run = 0;
  const gapsMs: number[] = [];
  for (let n = 0; n < count; n += 1) {
    let signal = 0;
    let output = 0;
    let noise = 0;
    for (let at = n * FRAME; at < (n + 1) * FRAME; at += 1) {
      const a = clean[at] ?? 0;
      const b = heard[at + shift] ?? 0;
      signal += a * a;
      output += b * b;
      noise += (a - b) ** 2;
    }
    const db = (sum: number) => Math.max(20, 10 * Math.log10(sum / FRAME + 1));
    cleanDb.push(db(signal));
    heardDb.push(db(output));
    // Speech is what is louder than 46 dB above one: an RMS of 200.
    const isSpeech = db(signal) > 46;
    if (isSpeech) {
      spoken += 1;
      snrs.push(Math.min(35, Math.max(-10, 10 * Math.log10((signal + 1) / (noise + 1)))));
      if (Math.abs(db(signal) - db(output)) < 3) intact += 1;
    }
    if (isSpeech && db(signal) - db(output) > 25) run += 20;
    else {
      if (run > 40) gapsMs.push(run);
      run = 0;
    }
  }
  if (run > 40) gapsMs.push(run);
  return {
    envelopeCorrelation: correlation(cleanDb, heardDb),
    segmentalSnrDb: snrs.reduce((sum, each) => sum + each, 0) / Math.max(1, snrs.length),
    intactShare: intact / Math.max(1, spoken),
    gapsMs,
  };
}

/** By how many samples `heard` is later, up to 600 ms. */
function bestShift(clean: Int16Array, heard: Int16Array): number {
  const length = Math.min(clean.length, heard.length, 96_000);
  let best = { score: Number.NEGATIVE_INFINITY, shift: 0 };
  const score = (shift: number, step: number) => {
    let sum = 0;
    for (let at = 0; at + shift < length; at += step) sum += (clean[at] ?? 0) * (heard[at + shift] ?? 0);
    return sum;
  };
  for (let shift = 0; shift < 14_400; shift += 2) {
    const each = score(shift, 7);
    if (each > best.score) best = { score: each, shift };
  }
  const around = best.shift;
  best = { score: Number.NEGATIVE_INFINITY, shift: around };
  for (let shift = Math.max(0, around - 3); shift <= around + 3; shift += 1) {
    const each = score(shift, 1);
    if (each > best.score) best = { score: each, shift };
  }
  return best.shift;
}

function correlation(a: readonly number[], b: readonly number[]): number {
  const mean = (list: readonly number[]) => list.reduce((sum, each) => sum + each, 0) / list.length;
  const [ma, mb] = [mean(a), mean(b)];
  let ab = 0;
  let aa = 0;
  let bb = 0;
  for (const [n, each] of a.entries()) {
    const da = each - ma;
    const db = (b[n] ?? 0) - mb;
    ab += da * db;
    aa += da * da;
    bb += db * db;
  }
  return ab / Math.sqrt(aa * bb || 1);
}
