/** Speech to send through a bad network: FEC copies nothing but voices. */

import { fileURLToPath } from 'node:url';
import { concatSamples, loadAudio, readAudioFile, resample } from '../../../src/audio/index.ts';

const FILES = ['long-answer.wav', 'read-notes.wav', 'count-words.wav', 'list-files.wav'];

/** So much of the demo's caller, at 24 kHz, without long pauses. */
export async function speech(seconds: number): Promise<Int16Array> {
  await loadAudio();
  const clips: Int16Array[] = [];
  for (const name of FILES) {
    const path = fileURLToPath(new URL(`../../../assets/demo/${name}`, import.meta.url));
    const { samples, sampleRate } = await readAudioFile(path);
    if (sampleRate !== 8000 && sampleRate !== 16_000 && sampleRate !== 24_000 && sampleRate !== 48_000)
      throw new Error(`${name} has another rate.`);
    clips.push(resample(samples, sampleRate, 24_000));
  }
  const once = concatSamples(clips);
  const whole = new Int16Array(Math.round(seconds * 24_000));
  for (let at = 0; at < whole.length; at += once.length) whole.set(once.subarray(0, whole.length - at), at);
  return whole;
}
