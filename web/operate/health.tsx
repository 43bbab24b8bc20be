/**
 * What is configured, and whether it works.
 *
 * @module
 */

import { span } from '../shared/format.ts';
import { Icon } from '../shared/icons.tsx';
import { now } from '../shared/now.ts';
import { useResource } from './resource.ts';
import { type Status, statusSchema } from './schemas.ts';

const WORDS = { ok: 'works', off: 'off', failed: 'does not work' } as const;

function verdict({ ready, draining }: Status): string {
  if (draining) return 'Stopping: no new calls';
  return ready ? 'Ready for calls' : 'Not ready for calls';
}

export function HealthView() {
  const status = useResource('operator/api/status', statusSchema, 5000);
  const { value } = status;
  if (!value)
    return (
      <>
        <h1>Health</h1>
        <p class="empty">{status.error ?? 'Loading…'}</p>
      </>
    );
  const { calls, checks, configured } = value;
  const isWell = value.ready && !value.draining;
  return (
    <>
      <h1>Health</h1>
      {status.error !== null && (
        <p class="problem" role="alert">
          {status.error}
        </p>
      )}
      <p class={`verdict verdict-${isWell ? 'ok' : 'failed'}`} role="status">
        <Icon name={isWell ? 'check' : 'cross'} size={20} />
        {verdict(value)}
      </p>
      <dl class="figures">
        <div>
          <dt>On the line</dt>
          <dd>
            {calls.live} <span class="dim">of {calls.max}</span>
          </dd>
        </div>
        <div>
          <dt>Connecting</dt>
          <dd>{calls.pending}</dd>
        </div>
        <div>
          <dt>From pages</dt>
          <dd>{calls.page}</dd>
        </div>
        <div>
          <dt>Up for</dt>
          <dd>{span(now.value - value.startedAt)}</dd>
        </div>
        <div>
          <dt>Version</dt>
          <dd>{value.version}</dd>
        </div>
      </dl>
      <section class="panel" aria-labelledby="configured">
        <h2 id="configured">Configured</h2>
        <ul class="rows">
          {configured.map(({ name, state, text }) => (
            <li key={name}>
              <span class={`state state-${state}`} aria-hidden="true" />
              <strong>{name}</strong>
              <span class="wide">{text}</span>
              <span class="dim">{WORDS[state]}</span>
            </li>
          ))}
        </ul>
      </section>
      <section class="panel" aria-labelledby="checks">
        <h2 id="checks">Checks</h2>
        <ul class="rows">
          {Object.entries(checks).map(([name, result]) => (
            <li key={name}>
              <span class={`state state-${result === 'ok' ? 'ok' : 'failed'}`} aria-hidden="true" />
              <strong>{name}</strong>
              <span class="wide">{result}</span>
            </li>
          ))}
        </ul>
      </section>
    </>
  );
}
