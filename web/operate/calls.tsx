/**
 * Calls now and before, and how long callers wait for an answer.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { ApiError, get } from '../shared/api.ts';
import { clock } from '../shared/format.ts';
import { Icon } from '../shared/icons.tsx';
import { now } from '../shared/now.ts';
import { hangUp } from './api.ts';
import { Latency } from './latency.tsx';
import { useResource } from './resource.ts';
import { type CallInfo, callsSchema } from './schemas.ts';
import { TableFrame } from './table-frame.tsx';

const IDENTITIES: Readonly<Record<string, string>> = {
  none: 'unknown',
  claimed: 'claimed',
  attested: 'attested',
  authenticated: 'authenticated',
};

export const endedBy = (reason: string | null) => (reason === null ? '–' : reason.replaceAll('_', ' '));

export function CallsView() {
  const calls = useResource('operator/api/calls?limit=50', callsSchema, 4000);
  const older = useSignal<readonly CallInfo[]>([]);
  const next = useSignal<number | null | undefined>(undefined);
  const error = useSignal('');
  const all = [...(calls.value?.calls ?? []), ...older.value];
  const live = all.filter(({ endedAt }) => endedAt === null);
  const before = all.filter(({ endedAt }) => endedAt !== null);
  const from = next.value === undefined ? (calls.value?.next ?? null) : next.value;
  const more = async () => {
    try {
      const page = await get(`operator/api/calls?limit=50&before=${from}`, callsSchema);
      older.value = [...older.value, ...page.calls];
      next.value = page.next;
    } catch (problem) {
      error.value = problem instanceof ApiError ? problem.message : 'It did not work.';
    }
  };
  const end = async (id: string) => {
    await hangUp(id).catch(() => {});
    calls.reload();
  };
  return (
    <>
      <h1>Calls</h1>
      <Latency />
      <section class="panel" aria-labelledby="live">
        <h2 id="live">
          On the line <span class="count">{live.length}</span>
        </h2>
        {live.length === 0 && (
          <p class="empty">{calls.value ? 'Nobody is calling.' : (calls.error ?? 'Loading…')}</p>
        )}
        <ul class="live-calls">
          {live.map((call) => (
            <li key={call.id}>
              <span class="pulse" aria-hidden="true" />
              <a href={`#calls/${encodeURIComponent(call.id)}`}>
                {call.carrier} <code>{call.id.slice(0, 8)}</code>
              </a>
              <span class="dim">
                {IDENTITIES[call.identity] ?? call.identity} · {clock(now.value - call.startedAt)}
              </span>
              <button type="button" class="small danger" onClick={() => void end(call.id)}>
                Hang up
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section class="panel" aria-labelledby="before">
        <h2 id="before">Before</h2>
        {before.length === 0 ? <p class="empty">No call has ended yet.</p> : <CallTable calls={before} />}
        {from !== null && (
          <button type="button" onClick={() => void more()}>
            Earlier calls
          </button>
        )}
        <p class="problem" role="alert">
          {error.value}
        </p>
      </section>
    </>
  );
}

function CallTable({ calls }: { calls: readonly CallInfo[] }) {
  return (
    <TableFrame label="Calls before">
      <table>
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Way</th>
            <th scope="col">Caller</th>
            <th scope="col">Model</th>
            <th scope="col" class="number">
              Length
            </th>
            <th scope="col">Ended by</th>
            <th scope="col">Kept</th>
          </tr>
        </thead>
        <tbody>
          {calls.map((call) => (
            <tr key={call.id}>
              <th scope="row">
                <a href={`#calls/${encodeURIComponent(call.id)}`}>
                  {new Date(call.startedAt).toLocaleString()}
                </a>
              </th>
              <td>{call.carrier}</td>
              <td>{IDENTITIES[call.identity] ?? call.identity}</td>
              <td>{call.provider}</td>
              <td class="number">{call.endedAt === null ? '–' : clock(call.endedAt - call.startedAt)}</td>
              <td>{endedBy(call.endReason)}</td>
              <td>
                {call.hasRecord && 'timeline'}
                {call.hasRecord && call.hasAudio && ', '}
                {call.hasAudio && 'sound'}
                {!call.hasRecord && !call.hasAudio && <span class="dim">words</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableFrame>
  );
}

/** Back to the list. */
export function BackLink() {
  return (
    <a class="back" href="#calls">
      <Icon name="chevron" size={16} />
      Calls
    </a>
  );
}
