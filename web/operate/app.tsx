/**
 * The operator's page: a login, then one view at a time.
 *
 * @module
 */

import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { ApiError, get, logOut } from '../shared/api.ts';
import { OwnerLogin } from '../shared/login.tsx';
import { ApprovalsView } from './approvals.tsx';
import { Board } from './board-state.ts';
import { CallView } from './call-view.tsx';
import { CallsView } from './calls.tsx';
import { DeliveriesView } from './deliveries.tsx';
import { GuestsView } from './guests.tsx';
import { HealthView } from './health.tsx';
import { type OperatorSession, sessionSchema } from './schemas.ts';

const VIEWS = [
  ['calls', 'Calls'],
  ['approvals', 'Approvals'],
  ['deliveries', 'Deliveries'],
  ['guests', 'Guests'],
  ['health', 'Health'],
] as const;
type ViewName = (typeof VIEWS)[number][0];

/** `#calls/<id>` */
function readHash(): { view: ViewName; id: string | null } {
  const [name, id] = location.hash.slice(1).split('/', 2);
  const view = VIEWS.find(([each]) => each === name)?.[0] ?? 'calls';
  return { view, id: id === undefined || id === '' ? null : decodeURIComponent(id) };
}

export function App() {
  const [session, setSession] = useState<OperatorSession | null | 'unknown' | 'away'>('unknown');
  const load = async () => {
    try {
      setSession(await get('operator/api/session', sessionSchema));
    } catch (error) {
      setSession(error instanceof ApiError && (error.status === 401 || error.status === 403) ? null : 'away');
    }
  };
  useEffect(() => void load(), []);
  if (session === 'unknown') return <div class="centre" aria-busy="true" />;
  if (session === 'away')
    return (
      <main class="centre">
        <div class="problem-view" role="alert">
          <h2>The gateway does not answer</h2>
          <button type="button" class="primary" onClick={() => void load()}>
            Try again
          </button>
        </div>
      </main>
    );
  if (session === null)
    return (
      <main class="centre">
        <div class="login">
          <h1>Operate</h1>
          <OwnerLogin onDone={load} />
        </div>
      </main>
    );
  return <Shell session={session} />;
}

function Shell({ session }: { session: OperatorSession }) {
  const [{ view, id }, setPlace] = useState(readHash);
  const [board] = useState(() => new Board());
  useLayoutEffect(() => {
    const onHash = () => {
      setPlace(readHash());
      document.getElementById('view')?.focus({ preventScroll: true });
      scrollTo(0, 0);
    };
    addEventListener('hashchange', onHash);
    return () => removeEventListener('hashchange', onHash);
  }, []);
  useEffect(() => {
    if (!session.has.approvals) return;
    board.follow();
    return () => board.close();
  }, []);
  const waiting = board.waiting.value;
  return (
    <div class="shell">
      <header class="top">
        <strong class="brand">Operate</strong>
        <nav class="tabs" aria-label="Views">
          {VIEWS.map(([name, title]) => (
            <a key={name} href={`#${name}`} aria-current={name === view ? 'page' : undefined}>
              {title}
              {name === 'approvals' && waiting > 0 && (
                <span class="badge">
                  {waiting}
                  <span class="visually-hidden"> waiting</span>
                </span>
              )}
            </a>
          ))}
        </nav>
        <div class="top-end">
          <a href="talk">Talk</a>
          <button type="button" class="link" onClick={() => void logOut().finally(() => location.reload())}>
            Log out
          </button>
        </div>
      </header>
      <main id="view" tabIndex={-1}>
        <View view={view} id={id} session={session} board={board} />
      </main>
    </div>
  );
}

function View(props: { view: ViewName; id: string | null; session: OperatorSession; board: Board }) {
  const { view, id, session, board } = props;
  switch (view) {
    case 'calls':
      return id === null ? <CallsView /> : <CallView key={id} id={id} />;
    case 'approvals':
      return session.has.approvals ? <ApprovalsView board={board} /> : <NoGate />;
    case 'deliveries':
      return <DeliveriesView has={session.has.media} />;
    case 'guests':
      return <GuestsView />;
    case 'health':
      return <HealthView />;
    default:
      return view satisfies never;
  }
}

function NoGate() {
  return (
    <>
      <h1>Approvals</h1>
      <p class="empty">
        No tool waits for a person: the config has no <code>approvals.toolGate</code>.
      </p>
    </>
  );
}
