/**
 * A soft tone for a caller who waits, made on the spot: what is left when there is no voice to say it with.
 *
 * @module
 */

import { type AudioFormat, fromSamples } from '../audio/index.ts';

const HZ = 440;
/** Of full scale: about 30 dB below it. */
const LEVEL = 0.03;
const BEEP_MS = 160;
const PAUSE_MS = 140;
const FADE_MS = 20;
const BEEPS = 2;

/** Length of the whole tone. */
export const WAITING_TONE_MS = BEEPS * (BEEP_MS + PAUSE_MS);

/** Two quiet beeps, faded in and out, in any of our formats. */
export function waitingTone(format: AudioFormat): Uint8Array {
  const perMs = format.sampleRate / 1000;
  const samples = new Int16Array(WAITING_TONE_MS * perMs);
  for (let i = 0; i < samples.length; i++) {
    const atMs = (i / perMs) % (BEEP_MS + PAUSE_MS);
    if (atMs >= BEEP_MS) continue;
    const fade = Math.min(1, atMs / FADE_MS, (BEEP_MS - atMs) / FADE_MS);
    samples[i] = Math.round(32_767 * LEVEL * fade * Math.sin((2 * Math.PI * HZ * i) / format.sampleRate));
  }
  return fromSamples(samples, format);
}
