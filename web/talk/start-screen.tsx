/**
 * Before the call: one button.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { Icon } from '../shared/icons.tsx';
import type { Call } from './call.ts';
import { DevicesDialog } from './devices-dialog.tsx';
import { microphoneObstacle } from './microphone.ts';
import { ProblemView } from './problem-view.tsx';
import type { PageSession } from './session.ts';

export function StartScreen(props: { call: Call; session: PageSession; onLeave: () => Promise<void> }) {
  const { call, session, onLeave } = props;
  const choosing = useSignal(false);
  const line = call.line.value;
  const obstacle = microphoneObstacle() ?? (session.canCall ? null : session.whyNot);
  const problem = line.at === 'failed' ? line.problem : obstacle;
  return (
    <div class="start">
      <header class="start-head">
        <span class="who">{session.role === 'owner' ? 'Logged in as owner' : 'Guest'}</span>
        <nav>
          {session.role === 'owner' && <a href="operator">Operate</a>}
          <button type="button" class="link" onClick={() => void onLeave()}>
            {session.role === 'owner' ? 'Log out' : 'Leave'}
          </button>
        </nav>
      </header>
      <main class="start-main">
        <h1>{session.agent.name}</h1>
        {problem === null ? (
          <>
            <button type="button" class="call-button" onClick={() => void call.start()}>
              <Icon name="phone" size={40} />
              <span>Call</span>
            </button>
            <p class="hint">
              Your microphone is on only while the call lasts.
              <br />
              Interrupt whenever you like.
            </p>
            <button type="button" class="link" onClick={() => (choosing.value = true)}>
              Microphone and speaker
            </button>
          </>
        ) : (
          <ProblemView
            code={problem}
            onRetry={() => {
              if (line.at === 'failed') void call.start();
              else location.reload();
            }}
          />
        )}
      </main>
      {choosing.value && <DevicesDialog call={call} onClose={() => (choosing.value = false)} />}
    </div>
  );
}
