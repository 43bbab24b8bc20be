import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { RETRY_DELAYS_MS, SessionProjector } from '../../src/bridge/session-projector.ts';
import { turnRows } from '../../src/bridge/turn-rows.ts';
import { RPC, RpcError } from '../../src/gateway/remote/index.ts';
import { silentLogger } from '../../src/observe/index.ts';
import type { TurnKey, TurnRow } from '../../src/store/index.ts';
import { FakeClock } from '../../src/testing/index.ts';

const turn = (turn: number, more: Partial<TurnRow> = {}): TurnRow => ({
  callId: 'c1',
  turn,
  sessionKey: 'realtime:ada',
  startedAt: Date.UTC(2026, 0, 15, 10, 0, turn),
  userText: `question ${turn}`,
  assistantText: `answer ${turn}`,
  tools: [],
  finalAt: 1,
  ...more,
});
const tool = (name: string, isError = false) => ({
  callId: 'f1',
  name,
  args: '{"a":1}',
  output: 'out',
  isError,
});

describe('a turn as rows of the host’s session', () => {
  it('is the caller’s words, the tools and their results, and what the caller heard, in this order', () => {
    const rows = turnRows(turn(1, { tools: [tool('read_file')] }));

    const common = { timestamp: '2026-01-15T10:00:01.000Z', source: 'voice', voice_turn: 'c1#1' };
    expect(rows).toEqual([
      { role: 'user', content: 'question 1', ...common },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'f1', type: 'function', function: { name: 'read_file', arguments: '{"a":1}' } }],
        ...common,
      },
      { role: 'tool', tool_call_id: 'f1', name: 'read_file', content: 'out', ...common },
      { role: 'assistant', content: 'answer 1', ...common },
    ]);
  });

  it('has no row for what was not said or not heard', () => {
    expect(turnRows(turn(0, { userText: null, assistantText: '' }))).toEqual([]);
  });

  it('that the agent answered is the agent’s to write, but for what else ran', () => {
    expect(turnRows(turn(1, { tools: [tool('ask_agent')] }))).toEqual([]);
    const roles = turnRows(turn(1, { tools: [tool('ask_agent'), tool('read_file')] })).map((row) => row.role);
    expect(roles).toEqual(['assistant', 'tool']);
    // A request that failed may have left nothing behind.
    expect(turnRows(turn(1, { tools: [tool('ask_agent', true)] }))).toHaveLength(4);
  });
});

describe('the projection into the host’s sessions', () => {
  let clock: FakeClock;
  let waiting: TurnRow[];
  let written: string[];
  let fail: (key: string) => Error | null;
  let projector: SessionProjector;

  beforeEach(() => {
    clock = new FakeClock();
    waiting = [];
    written = [];
    fail = () => null;
    projector = new SessionProjector({
      store: {
        listUnprojectedTurns: async (limit) => waiting.slice(0, limit),
        markProjected: async (keys: readonly TurnKey[]) => {
          waiting = waiting.filter(
            (each) => !keys.some((key) => key.callId === each.callId && key.turn === each.turn),
          );
        },
      },
      append: async (_session, key) => {
        const error = fail(key);
        if (error) throw error;
        written.push(key);
      },
      clock,
      logger: silentLogger,
    });
  });
  afterEach(() => expect(clock.pendingTimers).toBe(0));

  it('writes each turn once, in order, and more than a page of them', async () => {
    waiting = Array.from({ length: 450 }, (_, index) => turn(index));

    await Promise.all([projector.project(), projector.project()]);

    expect(written).toEqual(Array.from({ length: 450 }, (_, index) => `c1#${index}`));
  });

  it('tries again what the host could not take, in the session’s order, while other sessions go on', async () => {
    waiting = [turn(1), turn(2), turn(3, { callId: 'c2', sessionKey: 'realtime:bob' })];
    fail = (key) => (key === 'c1#1' ? new RpcError('busy', RPC.busy) : null);
    await projector.project();
    expect(written).toEqual(['c2#3']);

    fail = () => null;
    await clock.advance(RETRY_DELAYS_MS[0]!);

    expect(written).toEqual(['c2#3', 'c1#1', 'c1#2']);
  });

  it('waits longer each time, up to a bound, and for a host that answers nothing as well', async () => {
    waiting = [turn(1)];
    let tries = 0;
    fail = () => {
      tries++;
      return new RpcError('gone', RPC.deadline);
    };
    await projector.project();
    for (const delay of [...RETRY_DELAYS_MS, RETRY_DELAYS_MS.at(-1)!]) await clock.advance(delay);
    expect(tries).toBe(5);

    await projector.close();
  });

  it('does not try again what can never succeed', async () => {
    waiting = [turn(1), turn(2)];
    fail = (key) => (key === 'c1#1' ? new RpcError('no', RPC.invalidParams) : null);

    await projector.project();

    expect([written, waiting]).toEqual([['c1#2'], []]);
  });

  it('writes once more when it is closed, and then stops', async () => {
    waiting = [turn(1)];
    fail = () => new RpcError('gone', RPC.internal);
    await projector.project();
    fail = () => null;

    await projector.close();

    expect(written).toEqual(['c1#1']);
  });
});
