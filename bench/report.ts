/**
 * The results as one page that needs nothing else: bars, latency curves and tables.
 *
 * @module
 */

import type { OnsetSummary } from './pipecat/onsets.ts';
import type { RelaySummary, Results } from './run.ts';

const COLOURS: Readonly<Record<string, string>> = {
  bare: '#7a7a7a',
  agents: '#c2691c',
  ours: '#1c6ec2',
  pipecat: '#6a3d9a',
};

const escaped = (text: string) => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`);
const colour = (id: string) => COLOURS[id] ?? '#444';
const fixed = (value: number, digits: number) => (Number.isFinite(value) ? value.toFixed(digits) : '–');

interface Bar {
  readonly label: string;
  readonly value: number;
  readonly id: string;
}

function bars(title: string, unit: string, all: readonly Bar[], digits: number): string {
  const most = Math.max(...all.map(({ value }) => value), 0.000001);
  const rows = all
    .map(({ label, value, id }, row) => {
      const width = Math.max(1, (value / most) * 420);
      const y = row * 24;
      return (
        `<text x="215" y="${y + 15}" text-anchor="end">${escaped(label)}</text>` +
        `<rect x="225" y="${y + 3}" width="${width.toFixed(1)}" height="16" fill="${colour(id)}"/>` +
        `<text x="${(232 + width).toFixed(1)}" y="${y + 15}">${fixed(value, digits)} ${unit}</text>`
      );
    })
    .join('');
  return `<h3>${escaped(title)}</h3><svg role="img" viewBox="0 0 760 ${all.length * 24 + 4}">${rows}</svg>`;
}

/** Latency over the share of frames; the right end is where it hurts, so the share is drawn by its nines. */
function curves(title: string, all: readonly RelaySummary[], way: 'up' | 'down'): string {
  const [width, height] = [700, 240];
  const x = (share: number) => 50 + (Math.log10(1 / (1 - Math.min(share, 0.999))) / 3) * (width - 70);
  const most = Math.max(1, ...all.flatMap(({ runs }) => runs.map((run) => run[way].curve.at(-1)?.[1] ?? 0)));
  const y = (ms: number) => height - 30 - (ms / most) * (height - 50);
  const lines = all
    .flatMap(({ contestant, runs }) =>
      runs.map((run) => {
        const points = run[way].curve.map(([share, ms]) => `${x(share).toFixed(1)},${y(ms).toFixed(1)}`);
        return `<polyline fill="none" stroke="${colour(contestant)}" stroke-width="2" points="${points.join(' ')}"/>`;
      }),
    )
    .join('');
  const shares = [0, 0.5, 0.9, 0.99, 0.999]
    .map(
      (share) =>
        `<text x="${x(share).toFixed(1)}" y="${height - 10}" text-anchor="middle">${share * 100} %</text>`,
    )
    .join('');
  const grid = [0, 0.5, 1]
    .map((part) => {
      const at = y(most * part).toFixed(1);
      return `<line x1="50" x2="${width - 20}" y1="${at}" y2="${at}" stroke="#ddd"/><text x="45" y="${at}" text-anchor="end">${fixed(most * part, 1)}</text>`;
    })
    .join('');
  return `<h3>${escaped(title)}</h3><svg role="img" viewBox="0 0 ${width} ${height}">${grid}${lines}${shares}</svg>`;
}

function table(head: readonly string[], rows: readonly (readonly (string | number)[])[]): string {
  const cells = (tag: string, row: readonly (string | number)[]) =>
    row.map((cell) => `<${tag}>${escaped(String(cell))}</${tag}>`).join('');
  return `<table><tr>${cells('th', head)}</tr>${rows.map((row) => `<tr>${cells('td', row)}</tr>`).join('')}</table>`;
}

function relayPart(relay: readonly RelaySummary[]): string {
  const steps = [...new Set(relay.map(({ calls }) => calls))];
  const parts = steps.map((calls) => {
    const all = relay.filter((each) => each.calls === calls);
    const named = (value: (each: RelaySummary) => number) =>
      all.map((each) => ({ label: each.name, id: each.contestant, value: value(each) }));
    return (
      `<h2>${calls} calls</h2>` +
      bars(
        'CPU of a call',
        '% of a core',
        named((each) => each.cpuPerCall * 100),
        3,
      ) +
      bars(
        'resident memory that a call adds',
        'KiB',
        named((each) => each.memoryKiB),
        0,
      ) +
      curves('latency up (caller to model), ms, share of the frames', all, 'up') +
      curves('latency down (model to caller), ms, share of the frames', all, 'down')
    );
  });
  const rows = relay.map((each) => [
    each.name,
    each.calls,
    fixed(each.cpuPerCall * 100, 3),
    each.cpuSpread.map((share) => fixed(share * 100, 3)).join(' to '),
    each.upMs.map((ms) => fixed(ms, 2)).join(' / '),
    each.downMs.map((ms) => fixed(ms, 2)).join(' / '),
    each.memoryKiB,
    each.lost,
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
    'lost',
    'runs',
    'saturated',
  ];
  return table(head, rows) + parts.join('');
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

export function renderReport(results: Results): string {
  const { machine, load, relay, memory, reaction, micro, long, start, webrtc, pipecat } = results;
  const [first, last] = load;
  const body = [
    `<h1>What a call costs</h1><p>${escaped(results.date)}, ${machine.cores} cores, ${machine.memoryGiB} GiB, Node ${escaped(machine.node)}; ` +
      `<code>${escaped(results.command)}</code>; load average ${fixed(first, 2)} at the beginning, ${fixed(last, 2)} at the end. ` +
      'How it is measured: bench/README.md.</p>',
    relay ? `<h2>Phone relay</h2>${relayPart(relay)}` : '',
    pipecat ? onsetPart('Phone relay by onsets', pipecat.phone) : '',
    pipecat ? onsetPart('Calls from web pages by onsets', pipecat.web) : '',
    pipecat?.whyNot ? `<p>Pipecat is left out: ${escaped(pipecat.whyNot)}.</p>` : '',
    memory
      ? `<h2>Memory of an idle call</h2>${table(['calls', 'resident KiB', 'heap KiB', 'outside the heap KiB'], [[memory.calls, memory.residentKiBPerCall, memory.heapKiBPerCall, memory.externalKiBPerCall]])}`
      : '',
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
    micro
      ? `<h2>A frame of 20 ms</h2>${table(
          ['', 'ns', 'bytes'],
          micro.map(({ name, nsPerFrame, bytesPerFrame }) => [name, nsPerFrame, bytesPerFrame]),
        )}`
      : '',
    long
      ? `<h2>Long</h2>${table(
          [
            'calls',
            'virtual minutes',
            'took s',
            'heap KiB per call and minute',
            'collections %',
            'step p99 ms',
          ],
          [
            [
              long.calls,
              long.virtualMinutes,
              long.tookS,
              long.heapSlopeKiB,
              fixed(long.gcShare * 100, 1),
              long.step.p99Ms ?? 'too few',
            ],
          ],
        )}`
      : '',
    start
      ? `<h2>Start</h2>${table(['runs', 'median ms', 'spread ms', 'bare node ms'], [[start.runs, start.medianMs, start.spreadMs.join(' to '), start.bareNodeMs]])}`
      : '',
    webrtc ? `<h2>WebRTC</h2><pre>${escaped(JSON.stringify(webrtc, null, 1))}</pre>` : '',
  ];
  return `<!doctype html><html lang="en"><meta charset="utf-8"><title>What a call costs</title><style>
body{font:15px/1.45 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}
svg{width:100%;max-width:760px;font:12px system-ui,sans-serif}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}
td,th{padding:.2rem .6rem;border-bottom:1px solid #ddd;text-align:left}
</style>${body.join('\n')}</html>
`;
}
