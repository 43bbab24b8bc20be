/**
 * The demo's caller: recorded lines and when each is said.
 *
 * @module
 */

import { fileURLToPath } from 'node:url';
import { type Clip, type Cue, readClip } from '../../leg/wav/index.ts';

const SCRIPT: readonly (readonly [name: string, cue: Cue])[] = [
  ['ask-time', { when: 'answered', delayMs: 600 }],
  ['list-files', { when: 'answered', delayMs: 600 }],
  ['read-notes', { when: 'answered', delayMs: 600 }],
  ['count-words', { when: 'answered', delayMs: 600 }],
  ['read-outside', { when: 'answered', delayMs: 600 }],
  ['send-picture', { when: 'answered', delayMs: 600 }],
  // Asked to approve it: no, by voice. The second time the code is keyed in.
  ['delete-report', { when: 'answered', delayMs: 900 }],
  ['refuse', { when: 'answered', delayMs: 1200 }],
  ['delete-report', { when: 'answered', delayMs: 1500 }],
  ['long-answer', { when: 'answered', delayMs: 2500 }],
  ['cough', { when: 'talks-over', delayMs: 2200 }],
  ['interrupt', { when: 'talks-over', delayMs: 3200 }],
  ['goodbye', { when: 'answered', delayMs: 700 }],
];

/** The lines of `assets/demo`, in order. */
export function demoClips(): Promise<Clip[]> {
  return Promise.all(
    SCRIPT.map(([name, cue]) =>
      readClip(fileURLToPath(new URL(`../../../assets/demo/${name}.wav`, import.meta.url)), cue, name),
    ),
  );
}

/** A person's own recording in place of the script: it begins once the greeting was heard. */
export async function recordingAsClips(path: string): Promise<Clip[]> {
  return [await readClip(path, { when: 'answered', delayMs: 300 })];
}
