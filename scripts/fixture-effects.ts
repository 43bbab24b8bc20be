/** What a phone line does to speech, the same at every run. */

/** Uniform numbers from -1 to 1 from a fixed seed, so that a run gives the same files as the last. */
function* noise(): Generator<number, never> {
  let state = 0x12345678;
  for (;;) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    yield state / 0x80000000 - 1;
  }
}

function power(samples: ArrayLike<number>): number {
  let sum = 0;
  for (let i = 0; i < samples.length; i++) sum += (samples[i] ?? 0) ** 2;
  return sum / Math.max(1, samples.length);
}

function toInt16(samples: Float64Array): Int16Array {
  return Int16Array.from(samples, (sample) => Math.max(-32768, Math.min(32767, Math.round(sample))));
}

/** Adds pink-like noise at a signal-to-noise ratio, over the whole length. */
export function addNoise(samples: Int16Array, snrDb: number): Int16Array {
  const source = noise();
  let [slow, middle] = [0, 0];
  const raw = Float64Array.from({ length: samples.length }, () => {
    const white = source.next().value;
    slow = 0.99 * slow + 0.1 * white;
    middle = 0.9 * middle + 0.3 * white;
    return slow + middle + 0.2 * white;
  });
  const gain = Math.sqrt(power(samples) / power(raw) / 10 ** (snrDb / 10));
  return toInt16(raw.map((value, i) => (samples[i] ?? 0) + gain * value));
}

const COUGH_MS = 200;
const COUGH_NOISE = 0.12;

/**
 * A cough out of the beginning of a grunt: a hard attack, noise in it, and gone. A voice detector takes it for speech;
 * it is too short to be a word.
 *
 * @param samples - 16 kHz
 */
export function cough(samples: Int16Array): Int16Array {
  const source = noise();
  const start = samples.findIndex((sample) => Math.abs(sample) > 800);
  let smooth = 0;
  const out = Float64Array.from({ length: COUGH_MS * 16 }, (_, i) => {
    const atMs = i / 16;
    const loudness = Math.min(1, atMs / 8) * (atMs < 60 ? 1 : Math.exp((60 - atMs) / 55));
    smooth += 0.45 * (source.next().value - smooth);
    const breath = 26_000 * COUGH_NOISE * (atMs < 45 ? 1 : 0.35) * smooth;
    return loudness * (1.6 * (1 - COUGH_NOISE) * (samples[start + i] ?? 0) + breath);
  });
  return toInt16(out);
}

export function amplify(samples: Int16Array, factor: number): Int16Array {
  return toInt16(Float64Array.from(samples, (sample) => sample * factor));
}

/** Cuts everything beyond a share of full scale, as an overdriven microphone does. */
export function clip(samples: Int16Array, share: number): Int16Array {
  const limit = Math.round(32767 * share);
  return samples.map((sample) => Math.max(-limit, Math.min(limit, sample)));
}
