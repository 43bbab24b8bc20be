/**
 * From the end of a caller's speech to the first sound of the answer: percentiles, and of how many turns.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { milliseconds } from '../shared/format.ts';
import { useResource } from './resource.ts';
import { type Figures, latencySchema } from './schemas.ts';
import { TableFrame } from './table-frame.tsx';

const PERIODS = [
  [1, 'last hour'],
  [24, 'last day'],
  [168, 'last week'],
] as const;

/** A percentile of fewer turns than this says little. */
const enough = { p50: 2, p90: 10, p99: 100 } as const;

function Cells({ figures }: { figures: Figures }) {
  return (
    <>
      {(['p50', 'p90', 'p99'] as const).map((name) => (
        <td key={name} class={`number ${figures.n < enough[name] ? 'few' : ''}`}>
          {milliseconds(figures[name])}
        </td>
      ))}
      <td class="number">{milliseconds(figures.own.p50)}</td>
      <td class="number">{figures.n}</td>
      <td class="number">{figures.calls}</td>
    </>
  );
}

export function Latency() {
  const hours = useSignal<number>(24);
  const latency = useResource(`operator/api/latency?hours=${hours.value}`, latencySchema, 15_000);
  const { turns, byCarrier } = latency.value ?? { turns: null, byCarrier: {} };
  const carriers = Object.entries(byCarrier);
  return (
    <section class="panel" aria-labelledby="latency">
      <div class="panel-head">
        <h2 id="latency">Time to answer</h2>
        <select
          aria-label="Period"
          value={String(hours.value)}
          onChange={(event) => (hours.value = Number(event.currentTarget.value))}
        >
          {PERIODS.map(([value, name]) => (
            <option key={value} value={String(value)}>
              {name}
            </option>
          ))}
        </select>
      </div>
      {turns === null || turns.n === 0 ? (
        <p class="empty">
          {latency.error ?? (turns === null ? 'Loading…' : 'No turn was answered in this time.')}
        </p>
      ) : (
        <TableFrame label="Time to answer">
          <table>
            <thead>
              <tr>
                <th scope="col">From the caller’s last word to the answer</th>
                <th scope="col" class="number">
                  p50
                </th>
                <th scope="col" class="number">
                  p90
                </th>
                <th scope="col" class="number">
                  p99
                </th>
                <th scope="col" class="number">
                  p50 without tools
                </th>
                <th scope="col" class="number">
                  n, turns
                </th>
                <th scope="col" class="number">
                  calls
                </th>
              </tr>
            </thead>
            <tbody>
              <tr>
                <th scope="row">All</th>
                <Cells figures={turns} />
              </tr>
              {carriers.length > 1 &&
                carriers.map(([name, figures]) => (
                  <tr key={name}>
                    <th scope="row">{name}</th>
                    <Cells figures={figures} />
                  </tr>
                ))}
            </tbody>
          </table>
        </TableFrame>
      )}
      {turns !== null && turns.n > 0 && turns.n < enough.p99 && (
        <p class="hint">Grey: too few turns for that percentile to say much.</p>
      )}
    </section>
  );
}
