/**
 * When the page calls, waits, falls back to the other way, and calls again: a pure state machine. Whoever drives it does
 * what it says, in order, and tells it what came of it.
 *
 * @module
 */

export type Way = 'webrtc' | 'socket';

export type Line =
  | { readonly at: 'idle' }
  /** The browser asks for the microphone. */
  | { readonly at: 'asking'; readonly callId: string | null }
  | {
      readonly at: 'connecting';
      readonly way: Way;
      readonly callId: string | null;
      /** When the line was lost; `null` for a first connection. */
      readonly lostAt: number | null;
      readonly attempt: number;
    }
  | { readonly at: 'live'; readonly way: Way; readonly callId: string | null }
  /** Something is wrong with it; it may come right by itself in a moment. */
  | { readonly at: 'unsure'; readonly way: Way; readonly callId: string | null }
  /** Before another try. */
  | {
      readonly at: 'waiting';
      readonly way: Way;
      readonly callId: string;
      readonly lostAt: number;
      readonly attempt: number;
    }
  | { readonly at: 'over'; readonly reason: string }
  /** `problem`: a code of the gateway's, or one of the page's own (`problems.ts`). */
  | { readonly at: 'failed'; readonly problem: string };

export type LineEvent =
  | { readonly type: 'call'; readonly callId: string | null }
  | { readonly type: 'microphone' }
  | { readonly type: 'refused'; readonly problem: string }
  | { readonly type: 'answered'; readonly callId: string }
  | { readonly type: 'connected' }
  | { readonly type: 'wobbled' }
  | { readonly type: 'steadied' }
  | { readonly type: 'network_changed' }
  | { readonly type: 'lost' }
  | { readonly type: 'due' }
  | { readonly type: 'ended'; readonly reason: string }
  | { readonly type: 'hangup' };

export type LineEffect =
  | { readonly do: 'microphone' }
  | { readonly do: 'connect'; readonly way: Way; readonly callId: string | null }
  /** Leaves the present connection; the call goes on. */
  | { readonly do: 'drop' }
  | { readonly do: 'ping' }
  /** One timer; a new one replaces it, `null` stops it. */
  | { readonly do: 'timer'; readonly afterMs: number | null }
  | { readonly do: 'hangup' }
  | { readonly do: 'release' };

/** What the gateway offers, from `page/session`. */
export interface Ways {
  readonly webrtc: boolean;
  readonly socket: boolean;
  readonly fallbackAfterMs: number;
}

/** A connection that is away gets so long to come right by itself. */
export const GRACE_MS = 1200;
/** After a change of the network the line must answer within this. */
export const PROBE_MS = 800;
/** Then the page no longer tries to come back. The gateway gives a call up earlier, and says so. */
export const GIVE_UP_MS = 30_000;
const BACKOFF_MS = [0, 250, 500, 1000, 2000] as const;
/** Answers of the gateway after which there is nothing to come back to. */
const GONE = new Set(['CALL_NOT_FOUND', 'LEG_CLOSED']);
/** It does not even know this page any more: whoever had the call, and the session, is gone. */
const FORGOTTEN = new Set(['PAGE_AUTH_REQUIRED', 'PAGE_CODE_INVALID']);

export interface Step {
  readonly line: Line;
  readonly effects: readonly LineEffect[];
}

const stop: LineEffect = { do: 'timer', afterMs: null };
const fail = (problem: string): Step => ({
  line: { at: 'failed', problem },
  effects: [stop, { do: 'drop' }, { do: 'release' }],
});
const finish = (reason: string): Step => ({
  line: { at: 'over', reason },
  effects: [stop, { do: 'drop' }, { do: 'release' }],
});

/** @param now - monotonic ms */
export function step(line: Line, event: LineEvent, ways: Ways, now: number): Step {
  const same: Step = { line, effects: [] };
  const isOpen = line.at !== 'idle' && line.at !== 'over' && line.at !== 'failed';
  switch (event.type) {
    case 'call':
      if (isOpen) return same;
      if (!ways.webrtc && !ways.socket) return { line: { at: 'failed', problem: 'NO_WAY' }, effects: [] };
      return { line: { at: 'asking', callId: event.callId }, effects: [{ do: 'microphone' }] };
    case 'microphone':
      if (line.at !== 'asking') return same;
      return connect(ways.webrtc ? 'webrtc' : 'socket', line.callId, null, 0, ways);
    case 'answered':
      if (line.at !== 'connecting') return same;
      return {
        line: { ...line, callId: event.callId },
        effects: [{ do: 'timer', afterMs: ways.fallbackAfterMs }],
      };
    case 'connected':
      if (line.at !== 'connecting') return same;
      return { line: { at: 'live', way: line.way, callId: line.callId }, effects: [stop] };
    case 'wobbled':
      if (line.at !== 'live') return same;
      return { line: { ...line, at: 'unsure' }, effects: [{ do: 'timer', afterMs: GRACE_MS }] };
    case 'network_changed':
      if (line.at !== 'live') return line.at === 'waiting' ? again(line, ways) : same;
      return {
        line: { ...line, at: 'unsure' },
        effects: [{ do: 'ping' }, { do: 'timer', afterMs: PROBE_MS }],
      };
    case 'steadied':
      if (line.at !== 'unsure') return same;
      return { line: { ...line, at: 'live' }, effects: [stop] };
    case 'lost':
      if (line.at === 'live' || line.at === 'unsure') return comeBack(line, ways, now);
      return line.at === 'connecting' ? missed(line, ways, now, 'CONNECTION_FAILED') : same;
    case 'refused':
      if (line.at === 'asking') return fail(event.problem);
      return line.at === 'connecting' ? missed(line, ways, now, event.problem) : same;
    case 'due':
      if (line.at === 'unsure') return comeBack(line, ways, now);
      if (line.at === 'waiting') return again(line, ways);
      return line.at === 'connecting' ? missed(line, ways, now, 'CONNECTION_TIMEOUT') : same;
    case 'ended':
      return isOpen ? finish(event.reason) : same;
    case 'hangup':
      if (!isOpen) return same;
      return {
        line: { at: 'over', reason: 'caller_hangup' },
        effects: [stop, { do: 'hangup' }, { do: 'release' }],
      };
    default:
      return event satisfies never;
  }
}

/** The request itself is bounded too: the gateway may take a while to open a session of the model. */
const ANSWER_WITHIN_MS = 15_000;

function connect(way: Way, callId: string | null, lostAt: number | null, attempt: number, ways: Ways): Step {
  const afterMs = lostAt === null ? ANSWER_WITHIN_MS : ways.fallbackAfterMs;
  return {
    line: { at: 'connecting', way, callId, lostAt, attempt },
    effects: [
      { do: 'connect', way, callId },
      { do: 'timer', afterMs },
    ],
  };
}

function comeBack({ way, callId }: { way: Way; callId: string | null }, ways: Ways, now: number): Step {
  if (callId === null) return finish('connection_lost');
  const next = connect(way, callId, now, 0, ways);
  return { line: next.line, effects: [{ do: 'drop' }, ...next.effects] };
}

function again({ way, callId, lostAt, attempt }: Extract<Line, { at: 'waiting' }>, ways: Ways): Step {
  return connect(way, callId, lostAt, attempt, ways);
}

/** A connection did not come about. */
function missed(line: Extract<Line, { at: 'connecting' }>, ways: Ways, now: number, problem: string): Step {
  const { way, callId, lostAt, attempt } = line;
  if (lostAt !== null && GONE.has(problem)) return finish('connection_lost');
  if (lostAt !== null && FORGOTTEN.has(problem)) return finish('gateway_lost');
  const isPath = problem === 'CONNECTION_FAILED' || problem === 'CONNECTION_TIMEOUT';
  // UDP does not get through, or the media stack is not there: the other way, for the rest of the call.
  if (way === 'webrtc' && ways.socket && (isPath || problem === 'WEBRTC_UNAVAILABLE')) {
    const next = connect('socket', callId, lostAt, attempt, ways);
    return { line: next.line, effects: [{ do: 'drop' }, ...next.effects] };
  }
  if (lostAt === null) return fail(problem);
  if (callId === null || now - lostAt >= GIVE_UP_MS) return finish('connection_lost');
  const afterMs = BACKOFF_MS[Math.min(attempt + 1, BACKOFF_MS.length - 1)] ?? 0;
  return {
    line: { at: 'waiting', way, callId, lostAt, attempt: attempt + 1 },
    effects: [{ do: 'drop' }, { do: 'timer', afterMs }],
  };
}
