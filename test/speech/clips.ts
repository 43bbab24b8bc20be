import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { loadAudio, readAudioFile, resample, type SampleRate } from '../../src/audio/index.ts';

const path = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url));

/** A recording of the repository as 16 kHz samples. */
export async function utterance(name: string): Promise<Int16Array> {
  await loadAudio();
  const { samples, sampleRate } = await readAudioFile(path(name));
  return resample(samples, sampleRate as SampleRate, 16_000);
}

/** The same with a little silence around it. */
export async function clip(name: string): Promise<Int16Array> {
  const speech = await utterance(name);
  const padded = new Int16Array(speech.length + 8000);
  padded.set(speech, 4000);
  return padded;
}

export function json<T>(name: string): T {
  return JSON.parse(readFileSync(path(name), 'utf8')) as T;
}
