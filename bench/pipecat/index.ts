/**
 * The part `pipecat` of the benchmark: what can be measured by onsets only, with Pipecat beside the others where there is
 * Python.
 *
 * @module
 */

import { readFileSync } from 'node:fs';
import { installPipecat } from './install.ts';
import type { OnsetSummary } from './onsets.ts';
import { phoneOnsets } from './phone.ts';
import { webOnsets } from './web.ts';

export interface PipecatResult {
  /** The pin of `requirements.txt`. */
  readonly version: string;
  /** A sentence without its full stop, where Pipecat is left out. */
  readonly whyNot: string | null;
  readonly phone: readonly OnsetSummary[];
  readonly web: readonly OnsetSummary[];
}

/** Each step of calls, so many rounds of each, for so long (as a p99 needs, when left out). */
interface Size {
  readonly phone: readonly number[];
  readonly web: readonly number[];
  readonly rounds: number;
  readonly measureMs?: number;
  readonly ids?: readonly string[];
}

const SIZES = {
  full: { phone: [10, 25, 50, 100], web: [5, 10, 20, 40, 60], rounds: 3 },
  short: { phone: [20], web: [5], rounds: 1, measureMs: 6000, ids: ['bare', 'ours', 'pipecat'] },
  try: { phone: [3], web: [3], rounds: 1, measureMs: 1000, ids: ['bare', 'ours', 'pipecat'] },
} satisfies Record<string, Size>;

export async function pipecatPart(form: keyof typeof SIZES): Promise<PipecatResult> {
  const { phone: phoneSteps, web: webSteps, rounds, ...options }: Size = SIZES[form];
  const pins = readFileSync(new URL('requirements.txt', import.meta.url), 'utf8');
  const found = installPipecat(console.log);
  const [python, whyNot] = 'python' in found ? [found.python, null] : [null, found.whyNot];
  if (whyNot !== null) console.log(`Pipecat is left out: ${whyNot}.`);
  console.log('The phone relay by onsets');
  const phone = await phoneOnsets(python, phoneSteps, rounds, options);
  console.log('Calls from web pages by onsets');
  const web = await webOnsets(python, webSteps, rounds, options);
  return { version: /^pipecat-ai\S*==(\S+)/m.exec(pins)?.[1] ?? '', whyNot, phone, web };
}
