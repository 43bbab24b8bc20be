/**
 * The phone relay measured by onsets (`bursts.ts`), so that Pipecat, which resamples, can be measured beside the others
 * and by the same means.
 *
 *     node bench/pipecat/phone.ts [bare,ours,pipecat] [calls] [measured ms]
 *
 * @module
 */

import { loadavg } from 'node:os';
import { ask, next, start, stop, usageOf } from '../lib/child.ts';
import { nowUs } from '../lib/monotonic.ts';
import { agents, bare, type Contestant, ours, pipecat } from '../relay/contestants.ts';
import type { RelayRun } from '../relay/relay.ts';
import { secondsForP99 } from './bursts.ts';
import { type EndsRead, oneWay } from './ends.ts';
import { installPipecat } from './install.ts';

export interface OnsetRun extends RelayRun {
  /** Sound that came, as a share of what was sent meanwhile: below 1 the server falls behind. */
  readonly shareUp: number;
  readonly shareDown: number;
}

interface CallersRead extends EndsRead {
  readonly messages: number;
  readonly open: number;
}

/** A call that nobody has picked up by then will not be. */
const ANSWER_LIMIT_MS = 15_000;
const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const ready = (message: unknown) => (message as { ready?: string }).ready;

export interface OnsetOptions {
  readonly calls: number;
  readonly warmMs: number;
  readonly measureMs: number;
}

/** `null`: the contestant did not take that many calls. */
export async function runOnsets(contestant: Contestant, options: OnsetOptions): Promise<OnsetRun | null> {
  const { calls, warmMs, measureMs } = options;
  const load = loadavg()[0] ?? 0;
  const model = start('bench/pipecat/model.ts');
  const modelUrl = await next(model, ready);
  const callers = start('bench/pipecat/callers.ts');
  await next(callers, ready);
  const server = await contestant.start(modelUrl);
  /** One after the other, so that the n-th call is the model's n-th session; `false` when nobody picks up. */
  const dial = async (count: number): Promise<boolean> => {
    for (let n = 0; n < count; n += 1) {
      const before = await ask<number>(model, { ask: 'onTheLine' });
      await ask(callers, { ask: 'dial', target: server.target });
      const limit = performance.now() + ANSWER_LIMIT_MS;
      while ((await ask<number>(model, { ask: 'onTheLine' })) === before) {
        if (performance.now() > limit) return false;
        await wait(5);
      }
    }
    return true;
  };
  const read = () =>
    Promise.all([ask<EndsRead>(model, { ask: 'read' }), ask<CallersRead>(callers, { ask: 'read' })]);
  try {
    await wait(500);
    // The first calls load code; they are not what a call costs.
    if (!(await dial(2))) return null;
    await wait(500);
    const idle = await usageOf(server.child);
    if (!(await dial(calls - 2))) return null;
    await wait(warmMs);
    const [modelBefore, callersBefore] = await read();
    const before = await usageOf(server.child);
    const startUs = nowUs();
    await wait(measureMs);
    const after = await usageOf(server.child);
    const tookUs = nowUs() - startUs;
    const [modelAfter, callersAfter] = await read();
    const up = oneWay(callersAfter, modelAfter, { from: callersBefore, to: modelBefore });
    const down = oneWay(modelAfter, callersAfter, { from: modelBefore, to: callersBefore });
    return {
      contestant: contestant.id,
      calls,
      cpuPerCall: (after.cpuUs - before.cpuUs) / tookUs / calls,
      up: up.latency,
      down: down.latency,
      memoryPerCallKiB: Math.round((after.rss - idle.rss) / 1024 / (calls - 2)),
      lostUp: up.lost,
      lostDown: down.lost,
      messagesPerFrame:
        Math.round(((callersAfter.messages - callersBefore.messages) / calls / (tookUs / 20_000)) * 1000) /
        1000,
      dropped: calls - callersAfter.open,
      refused: modelAfter.refused - modelBefore.refused + callersAfter.refused - callersBefore.refused,
      gcShare: (after.gcMs - before.gcMs) / (tookUs / 1000),
      loopDelayP99Ms: after.delayP99Ms,
      load,
      shareUp: up.share,
      shareDown: down.share,
    };
  } finally {
    await server.stop();
    await stop(callers);
    await stop(model);
  }
}

if (import.meta.main) {
  const [ids = 'bare,ours,pipecat', calls = '10', measureMs] = process.argv.slice(2);
  const found = installPipecat(console.log);
  const all = [bare, agents, ours, ...('python' in found ? [pipecat(found.python)] : [])];
  if ('whyNot' in found) console.log(`Pipecat is left out: ${found.whyNot}.`);
  for (const contestant of all.filter(({ id }) => ids.split(',').includes(id))) {
    const run = await runOnsets(contestant, {
      calls: Number(calls),
      warmMs: 3000,
      measureMs: Number(measureMs ?? secondsForP99(Number(calls)) * 1000),
    });
    console.log(
      contestant.id,
      run
        ? JSON.stringify({
            ...run,
            up: { ...run.up, curve: undefined },
            down: { ...run.down, curve: undefined },
          })
        : `did not take ${calls} calls`,
    );
  }
}
