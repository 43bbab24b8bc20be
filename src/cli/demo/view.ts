/**
 * The call as it happens, on a terminal, and its summary.
 *
 * @module
 */

import { stripVTControlCharacters } from 'node:util';
import type { CallProgress } from '../../call/index.ts';
import type { Clock } from '../../clock.ts';
import type { CallRecord } from '../../observe/index.ts';

const COLUMNS = 100;

interface Style {
  readonly dim: (text: string) => string;
  readonly caller: (text: string) => string;
  readonly agent: (text: string) => string;
  readonly tool: (text: string) => string;
  readonly alarm: (text: string) => string;
}

const plain = (text: string) => text;
const colour = (code: number) => (text: string) => `\u001b[${code}m${text}\u001b[0m`;

/** Colours only where a person looks: a terminal, and `NO_COLOR` is not set. */
export function terminalStyle(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Style {
  if (!isTerminal || env.NO_COLOR)
    return { dim: plain, caller: plain, agent: plain, tool: plain, alarm: plain };
  return { dim: colour(2), caller: colour(34), agent: colour(32), tool: colour(35), alarm: colour(31) };
}

function seconds(ms: number): string {
  return ms < 100 ? `${ms.toFixed(0)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

function oneLine(text: string, length: number): string {
  const flat = text.replace(/\s+/g, ' ').trim();
  return flat.length <= length ? flat : `${flat.slice(0, length - 1)}…`;
}

export class DemoView {
  readonly #clock: Clock;
  readonly #style: Style;
  readonly #print: (line: string) => void;
  readonly #startedAt: number;

  constructor(options: { clock: Clock; style: Style; print: (line: string) => void }) {
    this.#clock = options.clock;
    this.#style = options.style;
    this.#print = options.print;
    this.#startedAt = options.clock.now();
  }

  show(progress: CallProgress): void {
    const row = this.#row(progress);
    if (row === null) return;
    const [who, what] = row;
    const at = ((this.#clock.now() - this.#startedAt) / 1000).toFixed(2).padStart(6);
    // Colours take no columns.
    const gap = ' '.repeat(Math.max(1, 9 - stripVTControlCharacters(who).length));
    this.#print(`${this.#style.dim(at)}  ${who}${gap}${what}`);
  }

  /** What happened, from the record alone. */
  summary(record: CallRecord, folder: string, tookMs: number): void {
    const print = this.#print;
    const sorted = record.latencies.map((each) => each.latencyMs).sort((a, b) => a - b);
    print('');
    print('Turn  Latency   In tools');
    for (const { turn, latencyMs, toolMs } of record.latencies) {
      print(`${String(turn).padStart(4)}  ${seconds(latencyMs).padStart(7)}  ${seconds(toolMs).padStart(9)}`);
    }
    const median = sorted[Math.floor((sorted.length - 1) / 2)];
    if (median !== undefined)
      print(`Median ${seconds(median)}, longest ${seconds(sorted.at(-1) ?? 0)}, ${sorted.length} turns.`);
    if (record.clock === 'virtual') {
      print(
        'On virtual time: latencies hold what is waited for (the pause that ends a turn), not computing.',
      );
    }
    const tools = record.events.filter((event) => event.type === 'tool');
    const refused = tools.filter((event) => event.isError).length;
    const cuts = record.events.filter((event) => event.type === 'interruption').length;
    const faults = record.events.filter((event) => event.type === 'fault').length;
    print(
      `${seconds(record.durationMs)} of call in ${seconds(tookMs)}; ${tools.length} tool calls (${refused} refused or failed), ${cuts} interruption${cuts === 1 ? '' : 's'}, ${faults} faults; ended by ${record.endReason.replaceAll('_', ' ')}.`,
    );
    print('');
    print(`Listen and look:  ${folder}/call.html   (also call.wav: caller left, agent right; call.json)`);
  }

  #row(progress: CallProgress): readonly [who: string, what: string] | null {
    const { caller, agent, tool, alarm, dim } = this.#style;
    switch (progress.type) {
      case 'caller_speaks':
        return [caller('caller'), dim('(speaks)')];
      case 'caller_stops':
        return null;
      case 'caller_said':
        return [caller('caller'), progress.text === '' ? dim('(not understood)') : progress.text];
      case 'agent_said':
        return [agent('agent'), `${progress.text}${progress.whole ? '' : alarm(' …(cut off)')}`];
      case 'interrupted':
        return [alarm('cut'), dim(`the caller talks over the agent, ${seconds(progress.heardMs)} into this`)];
      case 'resumed':
        return [alarm('goes on'), dim(`that was a noise; ${seconds(progress.restMs)} were not heard`)];
      case 'line':
        return [alarm('line'), progress.state === 'lost' ? 'broke off' : 'is back'];
      case 'tool_started':
        return [tool('tool'), `${progress.name} ${progress.args}`];
      case 'tool_ended': {
        const mark = progress.isError ? alarm('refused or failed') : 'done';
        const output = dim(oneLine(progress.output, COLUMNS));
        return [tool('tool'), `${progress.name} ${mark} in ${seconds(progress.tookMs)}: ${output}`];
      }
      case 'latency': {
        const tools = progress.toolMs > 0 ? `, of it ${seconds(progress.toolMs)} in tools` : '';
        return [
          dim('latency'),
          dim(`${seconds(progress.latencyMs)} from the last word to the answer${tools}`),
        ];
      }
      case 'media_sent':
        return [
          'sent',
          `${progress.caption} (${progress.route === 'spoken' ? 'told of in words' : progress.route})`,
        ];
      case 'fault':
        return [alarm('fault'), progress.code];
      default:
        return progress satisfies never;
    }
  }
}
