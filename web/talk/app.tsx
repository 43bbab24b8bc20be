/**
 * The caller's page: who is there, then the call.
 *
 * @module
 */

import { useEffect, useState } from 'preact/hooks';
import { ApiError } from '../shared/api.ts';
import { Field, OwnerLogin } from '../shared/login.tsx';
import { Call } from './call.ts';
import { CallScreen } from './call-screen.tsx';
import { ProblemView } from './problem-view.tsx';
import { leaveSession, type PageSession, readSession, takeCode, useCode } from './session.ts';
import { StartScreen } from './start-screen.tsx';

type Who =
  | { readonly is: 'unknown' }
  | { readonly is: 'nobody'; readonly why: string }
  | { readonly is: 'away' }
  | { readonly is: 'there'; readonly session: PageSession; readonly call: Call };

export function App() {
  const [who, setWho] = useState<Who>({ is: 'unknown' });
  const load = async () => {
    try {
      const session = await readSession();
      const call = new Call(session);
      setWho({ is: 'there', session, call });
      document.title = `Talk to ${session.agent.name}`;
      // The page was reloaded in the middle of a call.
      if (session.call !== null) void call.start(session.call);
    } catch (error) {
      const isUnknown = error instanceof ApiError && (error.status === 401 || error.status === 403);
      setWho(isUnknown ? { is: 'nobody', why: '' } : { is: 'away' });
    }
  };
  useEffect(() => {
    const code = takeCode();
    const enter = async () => {
      if (code !== null) {
        try {
          await useCode(code);
        } catch (error) {
          setWho({
            is: 'nobody',
            why: error instanceof ApiError ? error.message : 'The link does not work.',
          });
          return;
        }
      }
      await load();
    };
    void enter();
  }, []);

  switch (who.is) {
    case 'unknown':
      return <div class="centre" aria-busy="true" />;
    case 'away':
      return (
        <main class="centre">
          <ProblemView code="NETWORK" onRetry={() => void load()} />
        </main>
      );
    case 'nobody':
      return (
        <main class="centre">
          <div class="login">
            <h1>Who is calling?</h1>
            {who.why !== '' && (
              <p class="problem" role="alert">
                {who.why}
              </p>
            )}
            <OwnerLogin onDone={load} />
            <p class="or" aria-hidden="true">
              or
            </p>
            <Field
              label="A guest’s code"
              hint="It is in the link that you were sent, and works once."
              name="code"
              button="Enter"
              secret={false}
              onValue={async (code) => {
                await useCode(code);
                await load();
              }}
            />
          </div>
        </main>
      );
    case 'there': {
      const { call, session } = who;
      const leave = async () => {
        await leaveSession(session.role).catch(() => {});
        setWho({ is: 'nobody', why: '' });
      };
      return call.isOpen.value ||
        call.conversation.value.entries.length > 0 ||
        call.line.value.at === 'over' ? (
        <CallScreen call={call} session={session} />
      ) : (
        <StartScreen call={call} session={session} onLeave={leave} />
      );
    }
    default:
      return who satisfies never;
  }
}
