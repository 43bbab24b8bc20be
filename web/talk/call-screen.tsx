/**
 * The call: who, what is going on, what was said, and the keys.
 *
 * @module
 */

import { useSignal } from '@preact/signals';
import { clock } from '../shared/format.ts';
import { Icon } from '../shared/icons.tsx';
import { now } from '../shared/now.ts';
import { activity } from './activity.ts';
import { Announcer } from './announcer.tsx';
import type { Call } from './call.ts';
import { Controls } from './controls.tsx';
import { LiveLine } from './live-line.tsx';
import { Log } from './log.tsx';
import { ProblemView } from './problem-view.tsx';
import { endText } from './problems.ts';
import { Quality } from './quality-view.tsx';
import type { PageSession } from './session.ts';

/** What is going on with the line, or on it. */
export function statusOf(call: Call): string {
  const line = call.line.value;
  switch (line.at) {
    case 'asking':
      return 'Waiting for the microphone…';
    case 'connecting':
      if (line.lostAt !== null) return 'The line broke. Coming back…';
      return line.way === 'socket' ? 'Connecting the other way…' : 'Connecting…';
    case 'waiting':
      return 'The line broke. Coming back…';
    case 'unsure':
      return 'The line is unsteady…';
    case 'live':
      return activity(call.conversation.value);
    case 'idle':
    case 'over':
    case 'failed':
      return 'The call is over';
    default:
      return line satisfies never;
  }
}

export function CallScreen({ call, session }: { call: Call; session: PageSession }) {
  const line = call.line.value;
  const isOpen = call.isOpen.value;
  const startedAt = call.startedAt.value;
  return (
    <div class={`call ${isOpen ? '' : 'call-over'}`}>
      <header class="call-head">
        <div>
          <h1>{session.agent.name}</h1>
          {isOpen && startedAt !== null && (
            <p class="dim" role="timer" aria-label="Length of the call">
              {clock(now.value - startedAt)}
            </p>
          )}
        </div>
        {isOpen && <Quality call={call} />}
      </header>
      {isOpen ? (
        <>
          <section class="call-line" aria-label="What is going on">
            <p class="activity" data-state={line.at === 'live' ? call.conversation.value.state : line.at}>
              {statusOf(call)}
            </p>
            <LiveLine call={call} />
          </section>
          <Log call={call} session={session} />
          <Composer call={call} />
          <Controls call={call} />
        </>
      ) : (
        <>
          <Log call={call} session={session} />
          <section class="call-ended" aria-label="After the call">
            {line.at === 'failed' ? (
              <ProblemView code={line.problem} onRetry={() => void call.start()} />
            ) : (
              <>
                <p role="status">{line.at === 'over' ? endText(line.reason) : ''}</p>
                <button type="button" class="primary big" onClick={() => void call.start()}>
                  <Icon name="phone" />
                  Call again
                </button>
              </>
            )}
          </section>
        </>
      )}
      <Announcer call={call} status={statusOf(call)} />
    </div>
  );
}

function Composer({ call }: { call: Call }) {
  const text = useSignal('');
  const isLive = call.line.value.at === 'live';
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    // Words that can't leave now stay where they are.
    if (!isLive) return;
    call.type(text.value);
    text.value = '';
  };
  return (
    <form class="composer" aria-label="Typing" onSubmit={send}>
      <input
        type="text"
        aria-label="Type to the agent"
        placeholder="Or type here"
        maxLength={2000}
        autocomplete="off"
        enterkeyhint="send"
        value={text.value}
        onInput={(event) => (text.value = event.currentTarget.value)}
      />
      <button type="submit" class="round accent" aria-label="Send" disabled={!isLive}>
        <Icon name="send" size={18} />
      </button>
    </form>
  );
}
