/**
 * The results as one page that needs nothing else: what was wanted beside what was measured, bars, latency curves, tables.
 *
 * @module
 */

import { barsOf } from './bars.ts';
import { bars, type Curve, curves, escaped, fixed, legend, STYLE, spark, table } from './draw.ts';
import type { LongResult } from './long.ts';
import type { OnsetSummary } from './pipecat/onsets.ts';
import type { RelaySummary, Results } from './results.ts';
import type { WebRtcResult } from './webrtc.ts';
import { nameOfWorkers, type WorkersSummary } from './workers.ts';

/** What it must reach, each with what was found. */
function barPart(results: Results): string {
  const rows = barsOf(results).map(({ figure, bar, beyond, found, verdict, why }) => {
    const cells = [figure, bar, beyond, found, verdict, why].map((cell) => `<td>${escaped(cell)}</td>`);
    return `<tr class="${verdict.split(' ')[0]}">${cells.join('')}</tr>`;
  });
  const head = ['figure', 'bar', 'beyond', 'measured', 'reached', 'what else was going on'];
  return (
    `<h2>What it must reach</h2><div class="wide bars"><table><thead><tr>${head.map((each) => `<th>${each}</th>`).join('')}</tr></thead>` +
    `<tbody>${rows.join('')}</tbody></table></div>`
  );
}

/** Over the number of calls: p50 dashed, p99 drawn through. */
function overCalls(title: string, all: readonly RelaySummary[], way: 'upMs' | 'downMs'): string {
  const steps = [...new Set(all.map(({ calls }) => calls))];
  const [least, most] = [Math.min(...steps), Math.max(...steps)];
  const x = (calls: number) => (most === least ? 0.5 : (calls - least) / (most - least));
  const lines = [...new Set(all.map(({ contestant }) => contestant))].flatMap((id): Curve[] => {
    const own = all.filter((each) => each.contestant === id && each.runs.length > 0);
    const points = (which: 0 | 1) => own.map((each) => [x(each.calls), each[way][which]] as const);
    return [
      { id, points: points(1) },
      { id, isDashed: true, points: points(0) },
    ];
  });
  const ticks = steps.map((calls) => [x(calls), String(calls)] as const);
  return curves(title, lines, { ticks, title: 'calls at once' }, 5);
}

/** Over the share of the frames; the right end is where it hurts, so the share is drawn by its nines. */
function overFrames(title: string, all: readonly RelaySummary[], way: 'up' | 'down'): string {
  const x = (share: number) => Math.log10(1 / (1 - Math.min(share, 0.999))) / 3;
  const lines = all.flatMap(({ contestant, runs }) =>
    runs.map(
      (run): Curve => ({
        id: contestant,
        points: run[way].curve.map(([share, ms]) => [x(share), ms] as const),
      }),
    ),
  );
  const ticks = [0, 0.5, 0.9, 0.99, 0.999].map((share) => [x(share), `${share * 100} %`] as const);
  return curves(title, lines, { ticks, title: 'share of the frames that are earlier' });
}

function relayPart(relay: readonly RelaySummary[]): string {
  const steps = [...new Set(relay.map(({ calls }) => calls))];
  const names = [...new Map(relay.map(({ contestant: id, name }) => [id, { id, name }])).values()];
  const parts = steps.map((calls) => {
    const all = relay.filter((each) => each.calls === calls);
    const bar = (value: (each: RelaySummary) => number, spread?: (each: RelaySummary) => [number, number]) =>
      all.map((each) => ({
        label: each.name,
        id: each.contestant,
        value: each.runs.length > 0 ? value(each) : Number.NaN,
        ...(spread && each.runs.length > 0 ? { spread: spread(each) } : {}),
      }));
    const cpu = bar(
      (each) => each.cpuPerCall * 100,
      ({ cpuSpread: [least, most] }) => [least * 100, most * 100],
    );
    return (
      `<h3>${calls} calls</h3>` +
      bars('CPU of a call; the line is from the smallest run to the largest', '% of a core', cpu, 3) +
      bars(
        'resident memory that a call adds',
        'KiB',
        bar((each) => each.memoryKiB),
        0,
      ) +
      overFrames('latency up (caller to model), each run', all, 'up') +
      overFrames('latency down (model to caller), each run', all, 'down')
    );
  });
  const rows = relay.map((each) => [
    each.name,
    each.calls,
    each.runs.length === 0 ? '–' : fixed(each.cpuPerCall * 100, 3),
    each.runs.length === 0 ? '–' : each.cpuSpread.map((share) => fixed(share * 100, 3)).join(' to '),
    each.upMs.map((ms) => fixed(ms, 2)).join(' / '),
    each.downMs.map((ms) => fixed(ms, 2)).join(' / '),
    fixed(each.memoryKiB, 0),
    fixed(each.processMiB, 0),
    each.lost,
    endsOf(each),
    each.runs.length,
    each.saturated ? 'yes' : 'no',
  ]);
  const head = [
    '',
    'calls',
    'CPU %',
    'spread',
    'up p50/p99/max ms',
    'down p50/p99/max ms',
    'KiB',
    'MiB in all',
    'lost',
  ];
  return (
    `<h2>Phone relay</h2>${legend(names)}` +
    overCalls('latency up (caller to model): p99, and p50 dashed', relay, 'upMs') +
    overCalls('latency down (model to caller): p99, and p50 dashed', relay, 'downMs') +
    table([...head, 'ends, cores', 'runs', 'saturated'], rows) +
    parts.join('')
  );
}

/** Cores that callers and model took, at most, in one of the runs. */
function endsOf({ runs }: RelaySummary): string {
  const all = runs.map(({ endsCpu }) => (endsCpu ? endsCpu.carriers + endsCpu.model : Number.NaN));
  return fixed(Math.max(...all), 2);
}

function workersPart(all: readonly WorkersSummary[]): string {
  const rows = all.map((each) => [
    nameOfWorkers(each),
    each.calls,
    fixed(each.cpuPerCall * 100, 3),
    each.cpuSpread.map((share) => fixed(share * 100, 3)).join(' to '),
    fixed(each.primaryCpu * 100, 2),
    each.upMs.map((ms) => fixed(ms, 2)).join(' / '),
    each.downMs.map((ms) => fixed(ms, 2)).join(' / '),
    each.dropped,
    each.runs,
  ]);
  const head = ['', 'calls', 'CPU of a call %', 'spread', 'listening %', 'up p50/p99 ms', 'down p50/p99 ms'];
  return `<h2>Workers</h2>${table([...head, 'dropped', 'runs'], rows)}`;
}

function webrtcPart({ complexity, runs, parts }: WebRtcResult): string {
  const rows = runs.map((run) => [
    run.calls,
    fixed(run.cpuPerCall * 100, 2),
    fixed(1 / run.cpuPerCall, 0),
    `${fixed(run.in.p50Ms, 1)} / ${fixed(run.in.p99Ms, 1)} (${run.in.n})`,
    `${fixed(run.out.p50Ms, 1)} / ${fixed(run.out.p99Ms, 1)} (${run.out.n})`,
    fixed(run.loopDelayP99Ms, 1),
    run.missing,
  ]);
  const head = ['calls', 'CPU of a call %', 'calls for a core', 'in p50/p99 ms (n)', 'out p50/p99 ms (n)'];
  return (
    `<h2>WebRTC</h2><p>Opus both ways, complexity ${complexity}, FEC on; two in five agents speak at any time.</p>` +
    table([...head, 'loop p99 ms', 'missing'], rows) +
    table(
      ['a frame of 20 ms', 'µs'],
      parts.map(({ name, us }) => [name, us]),
    )
  );
}

function longPart(long: LongResult): string {
  const head = ['calls', 'virtual minutes', 'took s', 'heap KiB per call and minute', 'collections %'];
  const row = [
    long.calls,
    long.virtualMinutes,
    long.tookS,
    long.heapSlopeKiB,
    fixed(long.gcShare * 100, 1),
    fixed(long.loopDelayP99Ms, 2),
    fixed(long.step.p99Ms, 2),
    long.sessionsReplaced,
    long.heapIdleMiB?.map((mib) => fixed(mib, 1)).join(' and ') ?? '–',
  ];
  return (
    `<h2>Long</h2>${table([...head, 'loop delay p99 ms', 'step p99 ms', 'sessions replaced', 'heap without calls, before and after, MiB'], [row])}` +
    spark(`the collected heap over ${long.virtualMinutes} minutes`, long.heapMiB, 'MiB')
  );
}

function onsetPart(title: string, all: readonly OnsetSummary[]): string {
  const rows = all.map((each) => [
    each.name,
    each.calls,
    fixed(each.cpuPerCall * 100, 3),
    each.upMs.map((ms) => fixed(ms, 1)).join(' / '),
    each.downMs.map((ms) => fixed(ms, 1)).join(' / '),
    each.playedMs.map((ms) => fixed(ms, 1)).join(' / '),
    each.memoryKiB,
    each.lost,
    each.runs.length,
    each.saturated ? 'yes' : 'no',
  ]);
  const latency = (way: string) => `${way} p50/p99/max ms`;
  const head = [
    '',
    'calls',
    'CPU %',
    latency('up'),
    latency('down'),
    latency('played'),
    'KiB',
    'lost',
    'runs',
    'saturated',
  ];
  return `<h2>${escaped(title)}</h2>${table(head, rows)}`;
}

function runPart({ runs }: Results): string {
  const rows = Object.entries(runs).map(([part, run]) => [
    part,
    run.date,
    run.command,
    fixed(run.tookS, 0),
    run.load.map((each) => fixed(each, 2)).join(' to '),
  ]);
  return `<h2>Where the figures are from</h2>${table(['part', 'date', 'command', 'took s', 'load average'], rows)}`;
}

export function renderReport(results: Results): string {
  const { machine, relay, memory, reaction, micro, long, start, webrtc, pipecat, workers } = results;
  const body = [
    `<h1>What a call costs</h1><p>${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${escaped(machine.node)}. ` +
      'How it is measured: bench/README.md. Profiles: bench/profiles.</p>',
    barPart(results),
    relay ? relayPart(relay) : '',
    pipecat ? onsetPart('Phone relay by onsets', pipecat.phone) : '',
    pipecat ? onsetPart('Calls from web pages by onsets', pipecat.web) : '',
    pipecat?.whyNot ? `<p>Pipecat is left out: ${escaped(pipecat.whyNot)}.</p>` : '',
    webrtc ? webrtcPart(webrtc) : '',
    workers ? workersPart(workers) : '',
    reaction
      ? `<h2>Reaction</h2>${table(
          ['from, to', 'n', 'p50 ms', 'p99 ms', 'max ms'],
          reaction.map(({ name, found }) => [
            name,
            found.n,
            found.p50Ms,
            found.p99Ms ?? 'too few',
            found.maxMs,
          ]),
        )}`
      : '',
    long ? longPart(long) : '',
    memory
      ? `<h2>Memory of an idle call</h2>${table(['calls', 'resident KiB', 'heap KiB', 'outside the heap KiB'], [[memory.calls, memory.residentKiBPerCall, memory.heapKiBPerCall, memory.externalKiBPerCall]])}`
      : '',
    start
      ? `<h2>Start</h2>${table(['runs', 'median ms', 'spread ms', 'bare node ms'], [[start.runs, start.medianMs, start.spreadMs.join(' to '), start.bareNodeMs]])}`
      : '',
    micro
      ? `<h2>A frame of 20 ms</h2>${table(
          ['', 'ns', 'bytes'],
          micro.map(({ name, nsPerFrame, bytesPerFrame }) => [name, nsPerFrame, bytesPerFrame]),
        )}`
      : '',
    runPart(results),
  ];
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>What a call costs</title><style>${STYLE}</style></head><body>${body.join('\n')}</body></html>
`;
}
