/**
 * The phone relay by onsets, with Pipecat beside the others.
 *
 *     node bench/pipecat/phone.ts [bare,agents,ours,pipecat] [calls,…] [rounds] [measured ms]
 *
 * @module
 */

import { agents, bare, ours, pipecat } from '../relay/contestants.ts';
import { installPipecat } from './install.ts';
import { compareOnsets, type OnsetSummary } from './onsets.ts';

const CALLERS = 'bench/pipecat/callers.ts';
const WARM_MS = 3000;

/** @param python - Pipecat's; without it the others are measured alone */
export function phoneOnsets(
  python: string | null,
  steps: readonly number[],
  rounds: number,
  { ids, measureMs }: { readonly ids?: readonly string[]; readonly measureMs?: number } = {},
): Promise<OnsetSummary[]> {
  const all = [bare, agents, ours, ...(python === null ? [] : [pipecat(python)])];
  const wanted = all.filter(({ id }) => !ids || ids.includes(id));
  const time = measureMs === undefined ? {} : { measureMs };
  return compareOnsets(wanted, steps, rounds, { callers: CALLERS, warmMs: WARM_MS, ...time });
}

if (import.meta.main) {
  const [ids = 'bare,ours,pipecat', steps = '10', rounds = '1', measureMs] = process.argv.slice(2);
  const found = installPipecat(console.log);
  if ('whyNot' in found) console.log(`Pipecat is left out: ${found.whyNot}.`);
  await phoneOnsets('python' in found ? found.python : null, steps.split(',').map(Number), Number(rounds), {
    ids: ids.split(','),
    ...(measureMs === undefined ? {} : { measureMs: Number(measureMs) }),
  });
  process.exit(0);
}
