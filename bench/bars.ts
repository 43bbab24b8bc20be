/**
 * What was wanted beside what was measured. Where it is missed: what else was going on, and where the profile is.
 *
 * @module
 */

import { GATE_CHECK } from './gate.ts';
import type { RelaySummary, Results } from './results.ts';

export type Verdict = 'beyond' | 'met' | 'missed' | 'not measured';

export interface BarRow {
  readonly figure: string;
  readonly bar: string;
  readonly beyond: string;
  readonly found: string;
  readonly verdict: Verdict;
  /** Empty unless it was missed, or could not be measured. */
  readonly why: string;
}

/** One or several figures against the same two limits; all of them must keep them. */
interface Limits {
  readonly bar: number;
  readonly beyond?: number;
  /** @defaultValue false: less is better */
  readonly moreIsBetter?: boolean;
}

const CALLS = 300;
const text = (value: number | null, digits: number) =>
  value === null || !Number.isFinite(value) ? '–' : value.toFixed(digits);

function verdict(values: readonly (number | null)[], { bar, beyond, moreIsBetter = false }: Limits): Verdict {
  if (values.length === 0 || values.some((value) => value === null || !Number.isFinite(value)))
    return 'not measured';
  const keeps = (limit: number) =>
    values.every((value) => value !== null && (moreIsBetter ? value >= limit : value <= limit));
  if (beyond !== undefined && keeps(beyond)) return 'beyond';
  return keeps(bar) ? 'met' : 'missed';
}

/** The largest number of calls that both took. */
function shared(
  relay: readonly RelaySummary[],
  one: string,
  other: string,
): [RelaySummary, RelaySummary] | null {
  const steps = [...new Set(relay.map(({ calls }) => calls))].sort((a, b) => b - a);
  for (const calls of steps) {
    const of = (id: string) =>
      relay.find((each) => each.contestant === id && each.calls === calls && !each.saturated);
    const [a, b] = [of(one), of(other)];
    if (a && b) return [a, b];
  }
  return null;
}

/** What a phone figure was measured beside: the ends share the machine with the server. */
function besides(summary: RelaySummary | undefined, cores: number): string {
  if (!summary) return '';
  const loads = summary.runs.map(({ load }) => load.toFixed(1)).join(', ');
  const ends = summary.runs.map(({ endsCpu }) => (endsCpu ? endsCpu.carriers + endsCpu.model : Number.NaN));
  const most = Math.max(...ends);
  const share = Number.isFinite(most)
    ? `Callers and model took ${most.toFixed(2)} of the ${cores} cores beside the server's ` +
      `${(summary.cpuPerCall * summary.calls).toFixed(2)}. `
    : '';
  return `${share}Load average before each run: ${loads}. Profiles: bench/profiles.`;
}

export function barsOf(results: Results): BarRow[] {
  const { relay = [], webrtc, reaction, micro, start, machine } = results;
  const at = (id: string) => relay.find((each) => each.contestant === id && each.calls === CALLS);
  const [us, floor] = [at('ours'), at('bare')];
  const pair = shared(relay, 'ours', 'agents');
  const others = besides(us, machine.cores);
  const rows: BarRow[] = [];
  const add = (figure: string, bar: string, beyond: string, found: string, is: Verdict, why: string) =>
    rows.push({
      figure,
      bar,
      beyond,
      found,
      verdict: is,
      why: is === 'missed' || is === 'not measured' ? why : '',
    });

  const ratio = us && floor && !us.saturated ? us.cpuPerCall / floor.cpuPerCall : null;
  add(
    'phone, CPU per call, 300 calls, beside the bare relay of the same run',
    '≤ 1.15 ×',
    '≤ 1.0 ×',
    `${text(ratio, 2)} ×`,
    verdict([ratio], { bar: 1.15, beyond: 1 }),
    others || 'There is no run of 300 calls.',
  );
  const cpu = pair ? pair[0].cpuPerCall / pair[1].cpuPerCall : null;
  const p99 = (each: RelaySummary) => Math.max(each.upMs[1], each.downMs[1]);
  const late = pair ? p99(pair[0]) / p99(pair[1]) : null;
  const both = pair
    ? `${pair[0].calls} calls: the most that both took. ${besides(pair[0], machine.cores)}`
    : '';
  add(
    'phone, CPU beside OpenAI’s transport',
    '≤ 0.5 ×',
    '',
    `${text(cpu, 2)} ×`,
    verdict([cpu], { bar: 0.5 }),
    both,
  );
  add(
    'phone, added p99 beside OpenAI’s transport',
    '≤ 0.5 ×',
    '',
    `${text(late, 2)} ×`,
    verdict([late], { bar: 0.5 }),
    both,
  );
  const [up = null, down = null] = [us?.upMs[1], us?.downMs[1]];
  add(
    'phone, added latency at 300 calls, p99 up and down',
    '≤ 5 ms',
    '≤ 3 ms',
    `${text(up, 1)} and ${text(down, 1)} ms`,
    verdict([up, down], { bar: 5, beyond: 3 }),
    others || 'There is no run of 300 calls.',
  );
  const memory = us ? us.memoryKiB * 1.024 : null;
  add(
    'phone, resident memory per call, 300 calls',
    '≤ 150 KB',
    '≤ 100 KB',
    `${text(memory, 0)} KB`,
    verdict([memory], { bar: 150, beyond: 100 }),
    `${others} Frames that wait in sockets while the machine is short of CPU count, too.`,
  );
  const inTime = (webrtc?.runs ?? []).filter(
    // With fewer samples than a p99 needs, the largest of them has to keep it.
    (run) => Math.max(run.in.p99Ms ?? run.in.maxMs, run.out.p99Ms ?? run.out.maxMs) <= 20,
  );
  const most = inTime.at(-1);
  const perCore = most ? 1 / most.cpuPerCall : null;
  add(
    `WebRTC, Opus both ways (complexity ${webrtc?.complexity ?? 5}, FEC), calls for a core at p99 ≤ 20 ms`,
    '≥ 60',
    '≥ 80',
    most ? `${text(perCore, 0)} (measured with ${most.calls} at once)` : '–',
    verdict([perCore], { bar: 60, beyond: 80, moreIsBetter: true }),
    webrtc
      ? `Opus alone: ${webrtc.parts.map(({ name, us: time }) => `${name} ${time} µs`).join('; ')}. ` +
          `Load average before: ${webrtc.runs.map(({ load }) => load.toFixed(1)).join(', ')}.`
      : '',
  );
  const reactions = (reaction ?? []).slice(0, 3).map(({ found }) => found.p99Ms);
  add(
    'reaction, each of the first three, p99',
    '≤ 1 ms',
    '',
    `${reactions.map((each) => text(each, 2)).join(', ')} ms`,
    verdict(reactions, { bar: 1 }),
    `Load average before: ${results.runs.reaction?.load[0].toFixed(1) ?? '–'}.`,
  );
  const gate = micro?.find(({ name }) => name === GATE_CHECK);
  add(
    'the gate, tool not designated',
    '≤ 5 µs, nothing survives',
    '',
    gate ? `${text(gate.nsPerFrame / 1000, 2)} µs, ${gate.bytesPerFrame} bytes that do not survive` : '–',
    verdict([gate ? gate.nsPerFrame : null], { bar: 5000 }),
    '',
  );
  add(
    'npm start to listening, warm cache',
    '≤ 700 ms',
    '≤ 400 ms',
    start ? `${start.medianMs} ms (${start.spreadMs.join(' to ')}; a bare Node ${start.bareNodeMs})` : '–',
    verdict([start?.medianMs ?? null], { bar: 700, beyond: 400 }),
    `Load average before: ${results.runs.start?.load[0].toFixed(1) ?? '–'}. A bare Node process takes ${start?.bareNodeMs ?? '–'} ms here.`,
  );
  return rows;
}
