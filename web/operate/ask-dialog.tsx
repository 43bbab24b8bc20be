/**
 * Every decision is asked about once more, with all that matters in sight.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { ApiError } from '../shared/api.ts';
import { Dialog } from '../shared/dialog.tsx';
import { act } from './api.ts';
import { approve, argumentsOf, deny, type Scope, scopesOf } from './board.ts';
import type { Approval, BoardAction } from './schemas.ts';

export interface Asking {
  readonly what: 'approve' | 'deny' | 'happened' | 'did_not_happen';
  readonly approval: Approval;
}

const TITLES = {
  approve: 'Approve this?',
  deny: 'Deny this?',
  happened: 'It happened?',
  did_not_happen: 'It didn’t happen?',
} as const;
const BUTTONS = {
  approve: 'Approve',
  deny: 'Deny',
  happened: 'Yes, it happened',
  did_not_happen: 'No, it didn’t',
} as const;

export function AskDialog({
  asking,
  onDone,
}: {
  asking: Asking;
  onDone: (approval: Approval | null) => void;
}) {
  const { what, approval } = asking;
  const scope = useSignal<Scope>('once');
  const args = argumentsOf(approval);
  const bound = useSignal<readonly string[]>(args.map(([name]) => name));
  const reason = useSignal('');
  const error = useSignal('');
  const isBusy = useSignal(false);
  const action = (): BoardAction => {
    if (what === 'approve') return approve(scope.value, bound.value);
    return what === 'deny' ? deny(reason.value) : { resolution: what };
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    isBusy.value = true;
    try {
      onDone(await act(approval, action()));
    } catch (problem) {
      error.value = problem instanceof ApiError ? problem.message : 'It did not work.';
      isBusy.value = false;
    }
  };
  return (
    <Dialog title={TITLES[what]} onClose={() => onDone(null)}>
      <form class="ask" onSubmit={submit}>
        <p class="ask-summary">{approval.summary}</p>
        <pre>
          {approval.tool} {JSON.stringify(approval.arguments, null, 2)}
        </pre>
        {what === 'approve' && (
          <fieldset>
            <legend>How long it holds</legend>
            {scopesOf(approval).map(([name, label]) => (
              <label key={name} class="check">
                <input
                  type="radio"
                  name="scope"
                  checked={scope.value === name}
                  onChange={() => (scope.value = name)}
                />
                {label}
              </label>
            ))}
          </fieldset>
        )}
        {what === 'approve' && scope.value !== 'once' && args.length > 0 && (
          <fieldset>
            <legend>Only with the same</legend>
            {args.map(([name, value]) => (
              <label key={name} class="check">
                <input
                  type="checkbox"
                  checked={bound.value.includes(name)}
                  onChange={({ currentTarget: { checked } }) => {
                    bound.value = checked
                      ? [...bound.value, name]
                      : bound.value.filter((each) => each !== name);
                  }}
                />
                <span>
                  <code>{name}</code>: {value.slice(0, 80)}
                </span>
              </label>
            ))}
          </fieldset>
        )}
        {what === 'deny' && (
          <label class="choice">
            <span>Reason, which the agent is told (may be empty)</span>
            <input
              type="text"
              maxLength={280}
              value={reason.value}
              onInput={(event) => (reason.value = event.currentTarget.value)}
            />
          </label>
        )}
        {(what === 'happened' || what === 'did_not_happen') && (
          <p class="hint">This closes the card. It runs nothing.</p>
        )}
        <p class="problem" role="alert">
          {error.value}
        </p>
        <div class="actions">
          <button type="submit" class={what === 'deny' ? 'danger' : 'primary'} disabled={isBusy.value}>
            {BUTTONS[what]}
          </button>
          <button type="button" onClick={() => onDone(null)}>
            Back
          </button>
        </div>
      </form>
    </Dialog>
  );
}
