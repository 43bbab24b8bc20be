/** Test signals and how to measure them. */

export function sine(hz: number, sampleRate: number, seconds: number, amplitude = 16_000): Int16Array {
  return Int16Array.from({ length: Math.round(sampleRate * seconds) }, (_, i) =>
    Math.round(amplitude * Math.sin((2 * Math.PI * hz * i) / sampleRate)),
  );
}

/** Power of one frequency (Goertzel), relative to full scale, in dB. */
export function toneLevelDb(samples: Int16Array, hz: number, sampleRate: number): number {
  let re = 0;
  let im = 0;
  for (let i = 0; i < samples.length; i++) {
    // Hann window: without it the spectral leakage of another tone hides what is looked for.
    const window = 0.5 - 0.5 * Math.cos((2 * Math.PI * i) / samples.length);
    re += samples[i]! * window * Math.cos((2 * Math.PI * hz * i) / sampleRate);
    im += samples[i]! * window * Math.sin((2 * Math.PI * hz * i) / sampleRate);
  }
  const amplitude = (Math.hypot(re, im) * 4) / samples.length;
  return 20 * Math.log10(Math.max(amplitude, 1e-9) / 32768);
}

export function rms(samples: Int16Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return Math.sqrt(sum / Math.max(1, samples.length));
}
