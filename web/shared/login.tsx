/**
 * Who is there? The operator's token, or a guest's code.
 *
 * @module
 */

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError, logIn } from './api.ts';

export function Field(props: {
  label: string;
  hint: ComponentChildren;
  name: string;
  button: string;
  secret: boolean;
  isFirst?: boolean;
  /** @throws ApiError, which is shown */
  onValue: (value: string) => Promise<void>;
}) {
  const [error, setError] = useState('');
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget;
    const value =
      form instanceof HTMLFormElement ? String(new FormData(form).get(props.name) ?? '').trim() : '';
    if (value === '') return;
    setBusy(true);
    setError('');
    try {
      await props.onValue(value);
    } catch (problem) {
      setError(problem instanceof ApiError ? problem.message : 'It did not work.');
    } finally {
      setBusy(false);
    }
  };
  const common = {
    id: `field-${props.name}`,
    name: props.name,
    spellcheck: false,
    required: true,
    'aria-describedby': `hint-${props.name}`,
  };
  return (
    <form class="field" onSubmit={submit}>
      <label for={`field-${props.name}`}>{props.label}</label>
      <div class="field-row">
        {props.secret ? (
          <input
            type="password"
            autocomplete="current-password"
            autofocus={props.isFirst ?? false}
            {...common}
          />
        ) : (
          <input type="text" autocomplete="one-time-code" {...common} />
        )}
        <button type="submit" class="primary" disabled={isBusy}>
          {props.button}
        </button>
      </div>
      <p class="hint" id={`hint-${props.name}`}>
        {props.hint}
      </p>
      <p class="problem" role="alert">
        {error}
      </p>
    </form>
  );
}

export function OwnerLogin({ onDone }: { onDone: () => Promise<void> }) {
  return (
    <Field
      label="The operator’s token"
      hint={
        <>
          It was printed when the gateway first started. <code>nanobot-realtime approvals token</code> makes a
          new one.
        </>
      }
      name="token"
      button="Log in"
      secret
      isFirst
      onValue={async (token) => {
        await logIn(token);
        await onDone();
      }}
    />
  );
}
