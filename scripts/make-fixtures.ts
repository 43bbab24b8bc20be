/**
 * Makes the synthesised recordings: the demo's caller (`assets/demo`) and the utterances that tests use
 * (`fixtures/synthesised`). The output is committed; run it again after a change here and listen.
 *
 *   node scripts/make-fixtures.ts
 */

import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { loadAudio, resample, type SampleRate, writeWav } from '../src/audio/index.ts';
import { createSynthesiser } from '../src/speech/index.ts';
import { addNoise, amplify, clip, cough } from './fixture-effects.ts';
import { COUGH, DEMO_LINES, UTTERANCES } from './fixture-lines.ts';

/** The agent speaks with slt; the caller must be somebody else. */
const CALLER_VOICE = 'rms';

const SPEECH_RATE = 16_000;

const root = (path: string) => fileURLToPath(new URL(`../${path}`, import.meta.url));

function save(path: string, samples: Int16Array, rate: SampleRate, encoding: 'pcmu' | 'pcm16'): void {
  const channels = [resample(samples, SPEECH_RATE, rate)];
  writeFileSync(root(path), writeWav({ sampleRate: rate, channels, encoding }));
}

await loadAudio();
for (const folder of ['assets/demo', 'fixtures/synthesised']) mkdirSync(root(folder), { recursive: true });

const caller = createSynthesiser({ locale: 'en-us', voice: CALLER_VOICE });
for (const [name, text] of Object.entries(DEMO_LINES)) {
  const { samples } = await caller.synthesise(text);
  save(`assets/demo/${name}.wav`, samples, 8000, 'pcmu');
}
save('assets/demo/cough.wav', cough((await caller.synthesise(COUGH)).samples), 8000, 'pcmu');
for (const [name, text] of Object.entries(UTTERANCES)) {
  const { samples } = await caller.synthesise(text);
  save(`fixtures/synthesised/${name}-8k-mulaw.wav`, samples, 8000, 'pcmu');
  save(`fixtures/synthesised/${name}-16k.wav`, samples, 16_000, 'pcm16');
  save(`fixtures/synthesised/${name}-24k.wav`, samples, 24_000, 'pcm16');
  save(`fixtures/synthesised/${name}-noisy-10db-8k-mulaw.wav`, addNoise(samples, 10), 8000, 'pcmu');
  save(`fixtures/synthesised/${name}-clipped-8k-mulaw.wav`, clip(amplify(samples, 4), 0.5), 8000, 'pcmu');
}
await caller.close();
