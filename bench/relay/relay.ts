/**
 * The phone relay: N calls through each contestant in turn, and what that costs.
 *
 * @module
 */

import { loadavg } from 'node:os';
import { ask, next, start, stop, usageOf } from '../lib/child.ts';
import type { Distribution } from '../lib/histogram.ts';
import { nowUs } from '../lib/monotonic.ts';
import { agents, bare, type Contestant, ours } from './contestants.ts';

export interface RelayRun {
  readonly contestant: Contestant['id'];
  readonly calls: number;
  /** Share of one core that a call takes, over all threads of the server. */
  readonly cpuPerCall: number;
  readonly up: Distribution;
  readonly down: Distribution;
  /** Resident memory that one more call adds to a process that carries calls already, in KiB. */
  readonly memoryPerCallKiB: number;
  /** Resident memory of the whole process at the end, in MiB. */
  readonly processMiB: number;
  readonly lostUp: number;
  readonly lostDown: number;
  /** Messages that the caller's side was sent for each frame of 20 ms. */
  readonly messagesPerFrame: number;
  /** Calls that were not there any more at the end. */
  readonly dropped: number;
  /** Frames that were not even sent, because ten seconds of them waited already. */
  readonly refused: number;
  /** Share of the measured time spent in garbage collections. */
  readonly gcShare: number;
  readonly loopDelayP99Ms: number;
  /** Share of one core that the callers and the model take, all calls together: what a server shares the machine with. */
  readonly endsCpu: { readonly carriers: number; readonly model: number };
  /** How busy the machine was when it began: the load average of a minute. */
  readonly load: number;
}

interface CarriersRead {
  readonly down: Distribution;
  readonly lost: number;
  readonly unstamped: number;
  readonly messages: number;
  readonly clears: number;
  readonly broken: number;
  readonly refused: number;
  readonly calls: number;
}

/** Calls that are part of the floor for memory: with them the process has compiled and grown to what it needs anyway. */
const FLOOR_CALLS = 50;

/** A server that has not taken all calls by then will not. */
const DIAL_LIMIT_MS = 30_000;

class Saturated extends Error {}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Saturated(`not all calls were taken within ${ms / 1000} s`)), ms);
  });
  try {
    return await Promise.race([work, limit]);
  } finally {
    clearTimeout(timer);
  }
}

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const ready = (message: unknown) => (message as { ready?: string }).ready;

export interface RunOptions {
  readonly calls: number;
  readonly warmMs: number;
  readonly measureMs: number;
  readonly execArgv?: readonly string[];
  /** Where a CPU profile of the measured time goes. */
  readonly profile?: string;
}

/** `null`: the contestant did not take that many calls. */
export async function runRelay(contestant: Contestant, options: RunOptions): Promise<RelayRun | null> {
  const { calls, warmMs, measureMs, execArgv, profile } = options;
  const load = loadavg()[0] ?? 0;
  const model = start('bench/relay/model.ts');
  const modelUrl = await next(model, ready);
  const carriers = start('bench/relay/carriers.ts');
  await next(carriers, ready);
  const server = await contestant.start(modelUrl, execArgv);
  try {
    await wait(500);
    const dial = (count: number) => ask(carriers, { ask: 'dial', count, target: server.target });
    const floorCalls = Math.min(FLOOR_CALLS, Math.ceil(calls / 2));
    await within(DIAL_LIMIT_MS, dial(floorCalls));
    await wait(warmMs);
    const floor = await usageOf(server.child);
    await within(DIAL_LIMIT_MS, dial(calls - floorCalls));
    await wait(warmMs);
    await Promise.all([ask(model, { ask: 'reset' }), ask(carriers, { ask: 'reset' })]);
    if (profile !== undefined) server.child.send({ profile: 'start' });
    const everybody = () => Promise.all([server.child, carriers, model].map((each) => usageOf(each)));
    const [before, ...endsBefore] = await everybody();
    const startUs = nowUs();
    await wait(measureMs);
    const [after, ...endsAfter] = await everybody();
    const tookUs = nowUs() - startUs;
    if (!before || !after) throw new Error('The server did not say what it used.');
    const [carriersCpu = Number.NaN, modelCpu = Number.NaN] = endsAfter.map(
      ({ cpuUs }, i) => (cpuUs - (endsBefore[i]?.cpuUs ?? 0)) / tookUs,
    );
    if (profile !== undefined) {
      server.child.send({ profile: { file: profile } });
      await next(server.child, (message) => (message as { profiled?: string }).profiled);
    }
    const [{ up, lost: lostUp, refused: refusedUp }, read] = await Promise.all([
      ask<{ up: Distribution; lost: number; refused: number }>(model, { ask: 'read' }),
      ask<CarriersRead>(carriers, { ask: 'read' }),
    ]);
    return {
      contestant: contestant.id,
      calls,
      cpuPerCall: (after.cpuUs - before.cpuUs) / tookUs / calls,
      up,
      down: read.down,
      memoryPerCallKiB: Math.round((after.rss - floor.rss) / 1024 / (calls - floorCalls)),
      processMiB: Math.round(after.rss / 1024 / 1024),
      lostUp,
      lostDown: read.lost,
      messagesPerFrame: Math.round((read.messages / Math.max(1, read.down.n)) * 1000) / 1000,
      dropped: calls - read.calls,
      refused: read.refused + refusedUp,
      gcShare: (after.gcMs - before.gcMs) / (tookUs / 1000),
      loopDelayP99Ms: after.delayP99Ms,
      endsCpu: { carriers: carriersCpu, model: modelCpu },
      load,
    };
  } catch (error) {
    if (error instanceof Saturated) return null;
    throw error;
  } finally {
    await server.stop();
    await stop(carriers);
    await stop(model);
  }
}

if (import.meta.main) {
  const [id = 'ours', calls = '100', measureMs = '8000', profile] = process.argv.slice(2);
  const contestants = [bare, agents, ours].filter((each) => id === 'all' || id.split(',').includes(each.id));
  for (const contestant of contestants) {
    const run = await runRelay(contestant, {
      calls: Number(calls),
      warmMs: 3000,
      measureMs: Number(measureMs),
      ...(profile === undefined ? {} : { profile: `${profile}.${contestant.id}.cpuprofile` }),
    });
    if (!run) {
      console.log(`${contestant.id} did not take ${calls} calls`);
      continue;
    }
    const { up, down } = run;
    console.log(
      `${run.contestant.padEnd(7)} ${run.calls} calls  cpu ${(run.cpuPerCall * 100).toFixed(4)} %/call  ` +
        `up ${up.p50Ms}/${up.p99Ms}/${up.maxMs}  down ${down.p50Ms}/${down.p99Ms}/${down.maxMs} ms (n ${down.n})  ` +
        `mem ${run.memoryPerCallKiB} KiB of ${run.processMiB} MiB  lost ${run.lostUp}/${run.lostDown}  msg/frame ${run.messagesPerFrame}  ` +
        `dropped ${run.dropped}  gc ${(run.gcShare * 100).toFixed(2)} %  loop p99 ${run.loopDelayP99Ms.toFixed(1)}  ` +
        `ends ${(run.endsCpu.carriers * 100).toFixed(0)}+${(run.endsCpu.model * 100).toFixed(0)} %  load ${run.load.toFixed(2)}`,
    );
  }
}
