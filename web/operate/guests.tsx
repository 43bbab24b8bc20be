/**
 * Links for guests, and the guests who came by one.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { ApiError } from '../shared/api.ts';
import { span } from '../shared/format.ts';
import { now } from '../shared/now.ts';
import { makeLink, takeBackLink } from './api.ts';
import { useResource } from './resource.ts';
import { linksSchema } from './schemas.ts';

const PERIODS = [
  [60, '1 hour'],
  [15, '15 minutes'],
  [1440, '1 day'],
] as const;

export function GuestsView() {
  const links = useResource('page/links', linksSchema, 5000);
  const error = useSignal('');
  const remove = async (id: string) => {
    try {
      await takeBackLink(id);
    } catch (problem) {
      error.value = problem instanceof ApiError ? problem.message : 'It did not work.';
    }
    links.reload();
  };
  const { links: waiting, guests } = links.value ?? { links: [], guests: [] };
  return (
    <>
      <h1>Guests</h1>
      <NewLink onMade={() => links.reload()} />
      <section class="panel" aria-labelledby="waiting-links">
        <h2 id="waiting-links">
          Links not used yet <span class="count">{waiting.length}</span>
        </h2>
        {waiting.length === 0 && <p class="empty">None.</p>}
        <ul class="rows">
          {waiting.map(({ id, note, expiresAt }) => (
            <li key={id}>
              <span>{note || 'no note'}</span>
              <span class="dim">good for {span(expiresAt - now.value)}</span>
              <button type="button" class="small danger" onClick={() => void remove(id)}>
                Take back
              </button>
            </li>
          ))}
        </ul>
      </section>
      <section class="panel" aria-labelledby="guests-here">
        <h2 id="guests-here">
          Here now <span class="count">{guests.length}</span>
        </h2>
        {guests.length === 0 && <p class="empty">Nobody.</p>}
        <ul class="rows">
          {guests.map(({ id, note, since, call }) => (
            <li key={id}>
              <span>
                {note || 'no note'}
                {call !== null && (
                  <>
                    {' '}
                    <a href={`#calls/${encodeURIComponent(call)}`}>on the line</a>
                  </>
                )}
              </span>
              <span class="dim">for {span(now.value - since)}</span>
              <button type="button" class="small danger" onClick={() => void remove(id)}>
                Send away
              </button>
            </li>
          ))}
        </ul>
        <p class="problem" role="alert">
          {error.value}
        </p>
      </section>
    </>
  );
}

function NewLink({ onMade }: { onMade: () => void }) {
  const made = useSignal<string | null>(null);
  const copied = useSignal(false);
  const error = useSignal('');
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget;
    if (!(form instanceof HTMLFormElement)) return;
    const data = new FormData(form);
    error.value = '';
    copied.value = false;
    try {
      const { url } = await makeLink(String(data.get('note') ?? '').trim(), Number(data.get('ttl') ?? 60));
      made.value = url;
      form.reset();
      onMade();
    } catch (problem) {
      error.value = problem instanceof ApiError ? problem.message : 'It did not work.';
    }
  };
  const copy = async () => {
    await navigator.clipboard?.writeText(made.value ?? '').then(
      () => (copied.value = true),
      () => {},
    );
  };
  return (
    <section class="panel" aria-labelledby="new-link">
      <h2 id="new-link">Invite a guest</h2>
      <p class="hint">
        A link works once. Guests see which tools run, never with what or what came of it, and decide nothing
        that the config does not let them.
      </p>
      <form class="new-link" onSubmit={submit}>
        <label class="choice">
          <span>For whom (only you see it)</span>
          <input type="text" name="note" maxLength={100} autocomplete="off" />
        </label>
        <label class="choice">
          <span>Good for</span>
          <select name="ttl">
            {PERIODS.map(([minutes, name]) => (
              <option key={minutes} value={String(minutes)}>
                {name}
              </option>
            ))}
          </select>
        </label>
        <button type="submit" class="primary">
          Make a link
        </button>
      </form>
      <p class="problem" role="alert">
        {error.value}
      </p>
      {made.value !== null && (
        <div class="made">
          <input
            type="text"
            readOnly
            value={made.value}
            aria-label="The new link"
            onFocus={(e) => e.currentTarget.select()}
          />
          <button type="button" onClick={() => void copy()}>
            {copied.value ? 'Copied' : 'Copy'}
          </button>
          <p class="hint" role="status">
            It is shown this once.
          </p>
        </div>
      )}
    </section>
  );
}
