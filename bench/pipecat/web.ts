/**
 * Calls from web pages by onsets, Opus both ways: this project as `npm start` runs it, and Pipecat's SmallWebRTC (aiortc).
 *
 *     node bench/pipecat/web.ts [ours,pipecat] [calls,…] [rounds] [measured ms]
 *
 * @module
 */

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start, stop } from '../lib/child.ts';
import { OURS_CONFIG } from '../relay/contestants.ts';
import { startPipecat } from './contestant.ts';
import { installPipecat } from './install.ts';
import { compareOnsets, type Measured, type OnsetSummary } from './onsets.ts';
import type { PageTarget } from './pages.ts';

const CALLERS = 'bench/pipecat/pages.ts';
const WARM_MS = 3000;
/** As `npm start` runs Node. */
const START_FLAGS = ['--max-semi-space-size=16'];

const ours: Measured<PageTarget> = {
  id: 'ours',
  name: 'nanobot-channel-realtime',
  async start(modelUrl) {
    const home = mkdtempSync(join(tmpdir(), 'bench-'));
    mkdirSync(join(home, 'workspace'));
    const realtime = {
      ...OURS_CONFIG,
      carriers: {},
      logLevel: 'error',
      page: { maxCallsPerAddress: 2000 },
      webrtc: { bindAddress: '127.0.0.1' },
      model: { provider: 'openai', baseUrl: modelUrl },
    };
    const config = join(home, 'config.json');
    writeFileSync(config, JSON.stringify({ channels: { realtime } }));
    let printed = '';
    let listening = (_target: PageTarget) => {};
    const child = start('src/cli/main.ts', {
      args: ['start', '--config', config],
      env: { HOME: home, OPENAI_API_KEY: 'bench' },
      execArgv: START_FLAGS,
      onOutput: (text) => {
        printed += text;
        const gateway = /Listening\s+(https?:\S+)/.exec(printed)?.[1];
        const token = /shown this once[^\n]*\n\s+(\S+)\n/.exec(printed)?.[1];
        if (gateway && token) listening({ gateway, token });
      },
    });
    const target = await new Promise<PageTarget>((resolve, reject) => {
      listening = resolve;
      child.on('exit', () => reject(new Error(`The gateway did not start:\n${printed}`)));
    });
    return {
      child,
      target,
      stop: async () => {
        await stop(child);
        rmSync(home, { recursive: true, force: true });
      },
    };
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
