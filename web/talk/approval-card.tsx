/**
 * A request that waits for a person, with its buttons, and then what became of it.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { clock, pretty } from '../shared/format.ts';
import { Icon } from '../shared/icons.tsx';
import { now } from '../shared/now.ts';
import type { Call } from './call.ts';
import type { ShownApproval } from './conversation.ts';

const OUTCOMES: Readonly<Record<ShownApproval['status'], string>> = {
  pending: 'Waiting',
  approved: 'Approved',
  executing: 'Approved, running…',
  executed: 'Approved and done',
  failed: 'Approved, but it failed',
  unknown: 'Nobody knows whether it happened',
  denied: 'Denied: nothing was done',
  expired: 'Too late: nothing was done',
  cancelled: 'Cancelled: nothing was done',
};

/** A decision that the gateway did not answer by then can be given again. */
const ANSWER_MS = 4000;

export function ApprovalCard({ approval, call }: { approval: ShownApproval; call: Call }) {
  const decidedAt = useSignal(0);
  const { status, canDecide, expiresAt } = approval;
  const isPending = status === 'pending';
  const isOpen = call.isOpen.value;
  const left = expiresAt === null ? null : expiresAt - now.value;
  const isBusy = now.value - decidedAt.value < ANSWER_MS;
  const decide = (approve: boolean) => {
    decidedAt.value = Date.now();
    call.decide(approval.id, approve);
  };
  return (
    <section class={`approval approval-${status}`} aria-label={`Approval: ${approval.summary}`}>
      <header>
        <Icon name="shield" size={18} />
        <h2>{isPending ? 'May I?' : OUTCOMES[status]}</h2>
        {isPending && isOpen && left !== null && (
          <span class="dim" role="timer" aria-label="Time left to decide">
            {left > 0 ? clock(left) : 'time is up'}
          </span>
        )}
      </header>
      <p class="approval-summary">{approval.summary}</p>
      {approval.args !== undefined && (
        <details>
          <summary>
            <code>{approval.tool}</code>
          </summary>
          <pre>{pretty(approval.args)}</pre>
        </details>
      )}
      {isPending && canDecide && isOpen && (
        <div class="approval-buttons">
          <button type="button" class="primary" disabled={isBusy} onClick={() => decide(true)}>
            Approve
          </button>
          <button type="button" disabled={isBusy} onClick={() => decide(false)}>
            Deny
          </button>
        </div>
      )}
      {isPending && !(canDecide && isOpen) && <p class="hint">The operator decides this.</p>}
    </section>
  );
}
