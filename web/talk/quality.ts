/**
 * The connection in one word, and the numbers behind it.
 *
 * @module
 */

export interface LineNumbers {
  /** Lost on the way to us, in percent of the last seconds. */
  readonly lossInPercent: number | null;
  /** Lost on the way to the agent. */
  readonly lossOutPercent: number | null;
  /** Of what we heard: filled in, because it did not come in time. */
  readonly concealedPercent: number | null;
  readonly roundTripMs: number | null;
  /** How long sound waits here before it is played. */
  readonly bufferMs: number | null;
}

export const NO_NUMBERS: LineNumbers = {
  lossInPercent: null,
  lossOutPercent: null,
  concealedPercent: null,
  roundTripMs: null,
  bufferMs: null,
};

export type QualityWord = 'good' | 'fair' | 'poor';

/**
 * From here on a number makes the line fair, and poor. Speech through Opus with FEC. Some sound is filled in at every end
 * of a sentence, where the packets just stop.
 */
export const QUALITY_LIMITS: { readonly [K in keyof LineNumbers]: readonly [fair: number, poor: number] } = {
  lossInPercent: [2, 8],
  lossOutPercent: [3, 10],
  concealedPercent: [10, 25],
  roundTripMs: [250, 600],
  bufferMs: [200, 450],
};

/** @returns `null` while nothing is known */
export function qualityWord(numbers: LineNumbers): QualityWord | null {
  let worst: QualityWord | null = null;
  for (const name of Object.keys(QUALITY_LIMITS) as (keyof LineNumbers)[]) {
    const value = numbers[name];
    if (value === null) continue;
    const [fair, poor] = QUALITY_LIMITS[name];
    if (value >= poor) return 'poor';
    if (value >= fair) worst = 'fair';
    else worst ??= 'good';
  }
  return worst;
}

/** So many looks in a row must agree before the word changes: a line is not poor for a second. */
export const LOOKS_TO_CHANGE = 3;

/** The word as it is shown. */
export class SteadyWord {
  #shown: QualityWord | null = null;
  #next: QualityWord | null = null;
  #looks = 0;

  get shown(): QualityWord | null {
    return this.#shown;
  }

  look(word: QualityWord | null): QualityWord | null {
    if (word === this.#shown || word === null) {
      this.#looks = 0;
      return this.#shown;
    }
    this.#looks = word === this.#next ? this.#looks + 1 : 1;
    this.#next = word;
    if (this.#shown === null || this.#looks >= LOOKS_TO_CHANGE) {
      this.#shown = word;
      this.#looks = 0;
    }
    return this.#shown;
  }
}

/** Counters of a browser, since the call's start. */
export interface LineCounters {
  readonly packetsReceived: number;
  readonly packetsLost: number;
  readonly samplesReceived: number;
  readonly concealedSamples: number;
  readonly silentConcealedSamples: number;
  readonly bufferDelayS: number;
  readonly bufferEmitted: number;
  readonly roundTripS: number | null;
}

const percent = (part: number, whole: number) => (whole <= 0 ? null : Math.max(0, (100 * part) / whole));

/** What happened between two looks at the counters. */
export function between(
  before: LineCounters | null,
  after: LineCounters,
): Omit<LineNumbers, 'lossOutPercent'> {
  const roundTripMs = after.roundTripS === null ? null : after.roundTripS * 1000;
  // A new connection counts from zero.
  const from = before !== null && before.packetsReceived <= after.packetsReceived ? before : null;
  if (from === null) return { lossInPercent: null, concealedPercent: null, bufferMs: null, roundTripMs };
  const lost = after.packetsLost - from.packetsLost;
  const received = after.packetsReceived - from.packetsReceived;
  const silent = after.silentConcealedSamples - from.silentConcealedSamples;
  const concealed = after.concealedSamples - from.concealedSamples - silent;
  const emitted = after.bufferEmitted - from.bufferEmitted;
  return {
    lossInPercent: percent(lost, lost + received),
    concealedPercent: percent(concealed, after.samplesReceived - from.samplesReceived),
    bufferMs: emitted <= 0 ? null : ((after.bufferDelayS - from.bufferDelayS) / emitted) * 1000,
    roundTripMs,
  };
}
