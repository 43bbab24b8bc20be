/**
 * One request on the board.
 *
 * @module
 */

import { span } from '../shared/format.ts';
import { now } from '../shared/now.ts';
import type { Asking } from './ask-dialog.tsx';
import type { Approval } from './schemas.ts';

const when = (ms: number) => new Date(ms).toLocaleString();

function facts(approval: Approval): readonly (readonly [name: string, value: string])[] {
  const { requester, callId, decidedBy, decidedInput, reason, outcome, resolution, grantScope } = approval;
  const all: readonly (readonly [string, string | null])[] = [
    ['Asked by', requester],
    ['At', when(approval.createdAt)],
    ['On call', callId === null ? 'no call' : callId.slice(0, 8)],
    [
      'Decided by',
      decidedBy && `${decidedBy}${decidedInput === null ? '' : `, ${decidedInput.replaceAll('_', ' ')}`}`,
    ],
    ['Holds', grantScope === null || grantScope === 'once' ? null : grantScope],
    ['Reason', reason],
    ['Result', outcome],
    ['Closed as', resolution && (resolution === 'happened' ? 'it happened' : 'it didn’t happen')],
    ['Request', approval.id.slice(0, 8)],
  ];
  return all.flatMap(([name, value]) => (value === null || value === '' ? [] : [[name, value] as const]));
}

export function ApprovalCard({ approval, onAsk }: { approval: Approval; onAsk: (asking: Asking) => void }) {
  const { column, expiresAt } = approval;
  const isWaiting = column === 'Waiting';
  return (
    <article
      class="card"
      data-card={approval.id}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys and letters work on a card
      tabIndex={0}
      aria-label={`${column}: ${approval.summary}`}
    >
      <header>
        <h3>{approval.tool}</h3>
        {isWaiting && (
          <span class="dim" role="timer" aria-label="Time left">
            {expiresAt > now.value ? `${span(expiresAt - now.value)} left` : 'expiring'}
          </span>
        )}
      </header>
      <p>{approval.summary}</p>
      <pre>{JSON.stringify(approval.arguments, null, 2)}</pre>
      <details open={false}>
        <summary>Details</summary>
        <dl class="facts">
          {facts(approval).map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        </dl>
      </details>
      {isWaiting && (
        <div class="actions">
          <button type="button" class="primary" onClick={() => onAsk({ what: 'approve', approval })}>
            Approve…
          </button>
          <button type="button" onClick={() => onAsk({ what: 'deny', approval })}>
            Deny…
          </button>
        </div>
      )}
      {column === 'Unknown' && (
        <div class="actions">
          <button type="button" onClick={() => onAsk({ what: 'happened', approval })}>
            It happened
          </button>
          <button type="button" onClick={() => onAsk({ what: 'did_not_happen', approval })}>
            It didn’t
          </button>
        </div>
      )}
    </article>
  );
}
