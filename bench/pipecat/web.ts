/**
 * Calls from web pages by onsets, Opus both ways: this project as `npm start` runs it, and Pipecat's SmallWebRTC (aiortc).
 *
 *     node bench/pipecat/web.ts [ours,pipecat] [calls,…] [rounds] [measured ms]
 *
 * @module
 */

import { startGateway } from '../gateway.ts';
import { OURS_CONFIG } from '../relay/contestants.ts';
import { startPipecat } from './contestant.ts';
import { installPipecat } from './install.ts';
import { compareOnsets, type Measured, type OnsetSummary } from './onsets.ts';
import type { PageTarget } from './pages.ts';

const CALLERS = 'bench/pipecat/pages.ts';
const WARM_MS = 3000;

const ours: Measured<PageTarget> = {
  id: 'ours',
  name: 'nanobot-channel-realtime',
  async start(modelUrl) {
    const gateway = await startGateway(
      {
        ...OURS_CONFIG,
        carriers: {},
        page: { maxCallsPerAddress: 2000 },
        webrtc: { bindAddress: '127.0.0.1' },
        model: { provider: 'openai', baseUrl: modelUrl },
      },
      { env: { OPENAI_API_KEY: 'bench' }, probed: true },
    );
    const { child, url, operatorToken: token } = gateway;
    return { child, target: { gateway: url, token }, stop: gateway.stop };
  },
};

const pipecat = (python: string): Measured<PageTarget> => ({
  id: 'pipecat',
  name: 'Pipecat, SmallWebRTC (aiortc)',
  async start(modelUrl) {
    const { child, address, stop: end } = await startPipecat(python, modelUrl, ['--webrtc']);
    return { child, target: { offer: `http://${address}/api/offer` }, stop: end };
  },
});

/** @param python - Pipecat's; without it we are measured alone */
export function webOnsets(
  python: string | null,
  steps: readonly number[],
  rounds: number,
  { ids, measureMs }: { readonly ids?: readonly string[]; readonly measureMs?: number } = {},
): Promise<OnsetSummary[]> {
  const all = [ours, ...(python === null ? [] : [pipecat(python)])];
  const wanted = all.filter(({ id }) => !ids || ids.includes(id));
  const time = measureMs === undefined ? {} : { measureMs };
  return compareOnsets(wanted, steps, rounds, { callers: CALLERS, warmMs: WARM_MS, ...time });
}

if (import.meta.main) {
  const [ids = 'ours,pipecat', steps = '10', rounds = '1', measureMs] = process.argv.slice(2);
  const found = installPipecat(console.log);
  if ('whyNot' in found) console.log(`Pipecat is left out: ${found.whyNot}.`);
  await webOnsets('python' in found ? found.python : null, steps.split(',').map(Number), Number(rounds), {
    ids: ids.split(','),
    ...(measureMs === undefined ? {} : { measureMs: Number(measureMs) }),
  });
  process.exit(0);
}
