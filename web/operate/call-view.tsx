/**
 * One call: its figures, its picture, and what was said.
 *
 * @module
 */

import { useEffect, useRef, useState } from 'preact/hooks';
import { timelineColumns } from '../../src/observe/timeline.ts';
import { figures, happenings, clock as tenths } from '../../src/observe/timeline-text.ts';
import { type Peaks, wavPeaks } from '../../src/observe/wav-peaks.ts';
import { ApiError, request } from '../shared/api.ts';
import { Dialog } from '../shared/dialog.tsx';
import { clock } from '../shared/format.ts';
import { forgetRecord, hangUp } from './api.ts';
import { BackLink, endedBy } from './calls.tsx';
import { useResource } from './resource.ts';
import { type CallDetail, callDetailSchema, type Turn } from './schemas.ts';
import { TableFrame } from './table-frame.tsx';
import { TimelineView } from './timeline-view.tsx';

/** A recording up to this size is read for its picture; of a longer one there is the rest. */
const MAX_PEAK_BYTES = 64_000_000;

export function CallView({ id }: { id: string }) {
  const path = `operator/api/calls/${encodeURIComponent(id)}`;
  const [isLive, setLive] = useState(false);
  const detail = useResource(path, callDetailSchema, isLive ? 3000 : 0);
  const [isForgetting, setForgetting] = useState(false);
  const { value } = detail;
  useEffect(() => setLive(value?.call.endedAt === null), [value?.call.endedAt]);
  if (!value)
    return (
      <>
        <BackLink />
        <p class="empty">{detail.error ?? 'Loading…'}</p>
      </>
    );
  const { call, record } = value;
  const end = async () => {
    await hangUp(id).catch(() => {});
    detail.reload();
  };
  const forget = async () => {
    setForgetting(false);
    await forgetRecord(id).catch(() => {});
    detail.reload();
  };
  return (
    <>
      <BackLink />
      <div class="view-head">
        <h1>
          Call <code>{id.slice(0, 8)}</code>
        </h1>
        <p class="dim">
          {new Date(call.startedAt).toLocaleString()} · {call.carrier} ↔ {call.provider} · caller{' '}
          {call.identity}
        </p>
        <div class="view-actions">
          {call.endedAt === null && (
            <button type="button" class="danger" onClick={() => void end()}>
              Hang up
            </button>
          )}
          {record !== null && call.endedAt !== null && (
            <button type="button" class="small" onClick={() => setForgetting(true)}>
              Forget the record…
            </button>
          )}
        </div>
      </div>
      <Figures detail={value} />
      <Picture detail={value} audioPath={`${path}/audio`} />
      {record === null && <Turns turns={value.turns} />}
      {isForgetting && (
        <Dialog title="Forget the record?" onClose={() => setForgetting(false)}>
          <p>The timeline and the words of this call go for good. A recording of its sound stays.</p>
          <div class="actions">
            <button type="button" class="danger" onClick={() => void forget()}>
              Forget it
            </button>
            <button type="button" onClick={() => setForgetting(false)}>
              Back
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

function Figures({ detail: { call, record, turns } }: { detail: CallDetail }) {
  const list: readonly (readonly [string, string])[] = record
    ? figures(record)
    : [
        ['Length', call.endedAt === null ? 'on the line' : clock(call.endedAt - call.startedAt)],
        ['Turns', String(turns.filter(({ turn }) => turn > 0).length)],
        ['Tool calls', String(turns.reduce((sum, { tools }) => sum + tools.length, 0))],
        ['Ended by', endedBy(call.endReason)],
      ];
  return (
    <dl class="figures">
      {list.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

function Picture({ detail: { record, audio }, audioPath }: { detail: CallDetail; audioPath: string }) {
  const player = useRef<HTMLAudioElement>(null);
  const [peaks, setPeaks] = useState<{ caller: Peaks; agent: Peaks } | null>(null);
  const [error, setError] = useState('');
  useEffect(() => {
    if (!record || !audio) return;
    const abort = new AbortController();
    const read = async () => {
      const response = await request(audioPath, { signal: abort.signal });
      if (Number(response.headers.get('content-length') ?? 0) > MAX_PEAK_BYTES) return;
      const wav = new Uint8Array(await response.arrayBuffer());
      const columns = timelineColumns(record.durationMs);
      setPeaks({ caller: wavPeaks(wav, 0, columns), agent: wavPeaks(wav, 1, columns) });
    };
    read().catch((problem) => {
      if (!abort.signal.aborted) setError(problem instanceof ApiError ? problem.message : '');
    });
    return () => abort.abort();
  }, [record, audio]);
  if (!record)
    return (
      <p class="hint">There is no timeline of this call: records were off, or it is still on the line.</p>
    );
  const seek = (ms: number) => {
    if (!player.current) return;
    player.current.currentTime = ms / 1000;
    void player.current.play();
  };
  return (
    <section class="panel" aria-label="What happened">
      {/* biome-ignore lint/a11y/useMediaCaption: the table below has every word */}
      {audio && <audio ref={player} controls preload="metadata" src={audioPath} />}
      <p class="problem" role="alert">
        {error}
      </p>
      <TimelineView record={record} peaks={peaks} audio={player} />
      <TableFrame label="What happened, in order">
        <table class="happenings">
          <caption class="visually-hidden">What happened, in order</caption>
          <thead>
            <tr>
              <th scope="col">At</th>
              <th scope="col">Who</th>
              <th scope="col">What</th>
            </tr>
          </thead>
          <tbody>
            {happenings(record).map(({ atMs, who, what, kind, picture }, index) => (
              <tr key={index} class={`happening-${kind}`}>
                <td>
                  {audio ? (
                    <button type="button" class="link" onClick={() => seek(atMs)}>
                      {tenths(atMs)}
                    </button>
                  ) : (
                    tenths(atMs)
                  )}
                </td>
                <th scope="row">{who}</th>
                <td>
                  {what}
                  {picture && <span class="dim"> (a picture)</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </TableFrame>
    </section>
  );
}

function Turns({ turns }: { turns: readonly Turn[] }) {
  return (
    <section class="panel" aria-label="What was said">
      {turns.length === 0 && <p class="empty">Nothing was said.</p>}
      <ol class="turns">
        {turns.map(({ turn, userText, assistantText, tools }) => (
          <li key={turn}>
            {userText !== null && userText !== '' && (
              <p>
                <strong class="who-caller">Caller</strong> {userText}
              </p>
            )}
            {tools.map(({ callId, name, args, output, isError }) => (
              <details key={callId}>
                <summary>
                  <strong class="who-tool">{isError ? 'Tool ✕' : 'Tool'}</strong> <code>{name}</code>
                </summary>
                <pre>{args}</pre>
                <pre>{output}</pre>
              </details>
            ))}
            {assistantText !== null && assistantText !== '' && (
              <p>
                <strong class="who-agent">Agent</strong> {assistantText}
              </p>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}
