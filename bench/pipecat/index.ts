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

const SHORT_MS = 6000;

export async function pipecatPart(isFull: boolean): Promise<PipecatResult> {
  const pins = readFileSync(new URL('requirements.txt', import.meta.url), 'utf8');
  const found = installPipecat(console.log);
  const [python, whyNot] = 'python' in found ? [found.python, null] : [null, found.whyNot];
  if (whyNot !== null) console.log(`Pipecat is left out: ${whyNot}.`);
  console.log('The phone relay by onsets');
  const phone = isFull
    ? await phoneOnsets(python, [10, 25, 50, 100], 3)
    : await phoneOnsets(python, [20], 1, { ids: ['bare', 'ours', 'pipecat'], measureMs: SHORT_MS });
  console.log('Calls from web pages by onsets');
  const web = isFull
    ? await webOnsets(python, [5, 10, 20, 40, 60], 3)
    : await webOnsets(python, [5], 1, { measureMs: SHORT_MS });
  return { version: /^pipecat-ai\S*==(\S+)/m.exec(pins)?.[1] ?? '', whyNot, phone, web };
}
