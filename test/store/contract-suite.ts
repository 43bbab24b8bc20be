import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Store, ToolOutcome } from '../../src/store/index.ts';
import { MAX_LIST_ROWS } from '../../src/store/kysely-store.ts';

const id = () => randomBytes(16).toString('hex');
const tool = (callId: string, output = 'ok'): ToolOutcome => ({
  callId,
  name: 'read_file',
  args: '{"path":"a.txt"}',
  output,
  isError: false,
});

/** What every engine has to do. `open` gives a store that may hold other tests' rows. */
export function storeContract(open: () => Promise<Store>): void {
  let store: Store;
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store.close());

  const begin = async (sessionKey = `realtime:${id()}`, startedAt = 1_700_000_000_000) => {
    const callId = id();
    await store.beginCall({
      id: callId,
      sessionKey,
      carrier: 'wav',
      provider: 'command',
      identityStrength: 'none',
      startedAt,
    });
    return { callId, sessionKey };
  };

  it('answers a ping', async () => {
    await expect(store.ping()).resolves.toBeUndefined();
  });

  it('gives a call back as it was begun', async () => {
    const { callId, sessionKey } = await begin();

    expect(await store.getCall(callId)).toEqual({
      id: callId,
      sessionKey,
      carrier: 'wav',
      provider: 'command',
      identityStrength: 'none',
      startedAt: 1_700_000_000_000,
      endedAt: null,
      endReason: null,
    });
    expect(await store.getCall('nobody')).toBeNull();
  });

  it('refuses a call id that is taken', async () => {
    const { callId, sessionKey } = await begin();

    const again = store.beginCall({
      id: callId,
      sessionKey,
      carrier: 'wav',
      provider: 'command',
      identityStrength: 'none',
      startedAt: 1,
    });

    await expect(again).rejects.toMatchObject({ code: 'STORE_CONFLICT' });
  });

  it('lets the first end of a call win, whoever asks at the same time', async () => {
    const { callId } = await begin();

    const ends = await Promise.all([
      store.endCall(callId, 10, 'caller_hangup'),
      store.endCall(callId, 11, 'agent_hangup'),
      store.endCall(callId, 12, 'silence'),
    ]);

    expect(ends.filter(Boolean)).toHaveLength(1);
    const winner = ends.indexOf(true);
    expect((await store.getCall(callId))?.endedAt).toBe(10 + winner);
    expect(await store.endCall('nobody', 1, 'silence')).toBe(false);
  });

  it('lists the newest calls first, and the live ones alone', async () => {
    const far = 8_000_000_000_000;
    const older = await begin(undefined, far);
    const newer = await begin(undefined, far + 1);
    await store.endCall(older.callId, far + 2, 'caller_hangup');

    const all = await store.listCalls({ limit: 2 });
    const live = await store.listCalls({ limit: 1, live: true });
    const ended = await store.listCalls({ limit: 1, live: false });

    expect(all.map((call) => call.id)).toEqual([newer.callId, older.callId]);
    expect(live.map((call) => call.id)).toEqual([newer.callId]);
    expect(ended.map((call) => call.id)).toEqual([older.callId]);
    expect(await store.listCalls({ limit: 0 })).toEqual([]);
  });

  it('opens the same turn twice as one row and keeps the first', async () => {
    const { callId, sessionKey } = await begin();

    await store.openTurn({ callId, turn: 0, sessionKey, startedAt: 5 });
    await store.openTurn({ callId, turn: 0, sessionKey, startedAt: 6 });

    expect(await store.listTurns(sessionKey, 10)).toEqual([
      {
        callId,
        turn: 0,
        sessionKey,
        startedAt: 5,
        userText: null,
        assistantText: null,
        tools: [],
        finalAt: null,
      },
    ]);
  });

  it('refuses a turn of a call that is not there, and an outcome of a turn that was never opened', async () => {
    const { callId } = await begin();

    await expect(
      store.openTurn({ callId: 'nobody', turn: 0, sessionKey: 'a:b', startedAt: 1 }),
    ).rejects.toMatchObject({ code: 'STORE_CONFLICT' });
    await expect(store.commitTurn(callId, 7, { userText: 'hi' })).rejects.toMatchObject({
      code: 'STORE_CONFLICT',
    });
  });

  it('adds what becomes known of a turn piece by piece and writes a tool call once', async () => {
    const { callId, sessionKey } = await begin();
    await store.openTurn({ callId, turn: 1, sessionKey, startedAt: 5 });

    await store.commitTurn(callId, 1, { tools: [tool('b'), tool('a')] });
    await store.commitTurn(callId, 1, { userText: 'read a', tools: [tool('a', 'again'), tool('c')] });
    await store.commitTurn(callId, 1, { assistantText: 'It says x', finalAt: 9 });

    const [turn] = await store.listTurns(sessionKey, 10);
    expect(turn?.tools.map((each) => [each.callId, each.output])).toEqual([
      ['b', 'ok'],
      ['a', 'ok'],
      ['c', 'ok'],
    ]);
    expect(turn).toMatchObject({ userText: 'read a', assistantText: 'It says x', finalAt: 9 });
  });

  it('keeps text of any kind as it is', async () => {
    const { callId, sessionKey } = await begin();
    const text = 'naïve 你好 🎈 \'"; drop table turns; -- \n\t\\';
    await store.openTurn({ callId, turn: 1, sessionKey, startedAt: 5 });

    await store.commitTurn(callId, 1, {
      userText: text,
      assistantText: '',
      tools: [{ callId: text, name: text, args: text, output: text, isError: true }],
    });

    const [turn] = await store.listTurns(sessionKey, 1);
    expect(turn?.userText).toBe(text);
    expect(turn?.assistantText).toBe('');
    expect(turn?.tools).toEqual([{ callId: text, name: text, args: text, output: text, isError: true }]);
  });

  it('takes the retry of a final commit and refuses to change a final turn', async () => {
    const { callId, sessionKey } = await begin();
    await store.openTurn({ callId, turn: 1, sessionKey, startedAt: 5 });
    const outcome = { userText: 'hi', assistantText: 'hello', tools: [tool('a')], finalAt: 9 };
    await store.commitTurn(callId, 1, outcome);

    await expect(store.commitTurn(callId, 1, outcome)).resolves.toBeUndefined();
    for (const late of [{ assistantText: 'other' }, { tools: [tool('late')] }, { finalAt: 10 }]) {
      await expect(store.commitTurn(callId, 1, late)).rejects.toMatchObject({ code: 'STORE_CONFLICT' });
    }
    const [turn] = await store.listTurns(sessionKey, 1);
    expect(turn).toMatchObject(outcome);
  });

  it('lists the last turns of one session only, oldest first, over several calls', async () => {
    const { callId, sessionKey } = await begin();
    const second = await begin(sessionKey);
    const other = await begin();
    await store.openTurn({ callId, turn: 0, sessionKey, startedAt: 1 });
    await store.openTurn({ callId, turn: 1, sessionKey, startedAt: 2 });
    await store.openTurn({ callId: second.callId, turn: 0, sessionKey, startedAt: 3 });
    await store.openTurn({
      callId: other.callId,
      turn: 0,
      sessionKey: other.sessionKey,
      startedAt: 4,
    });
    await store.commitTurn(callId, 1, { tools: [tool('x')] });
    await store.commitTurn(second.callId, 0, { tools: [tool('y')] });

    const turns = await store.listTurns(sessionKey, 2);

    expect(turns.map((turn) => [turn.callId, turn.turn, turn.tools.map((each) => each.callId)])).toEqual([
      [callId, 1, ['x']],
      [second.callId, 0, ['y']],
    ]);
  });

  it('writes the tools of many commits at once, none lost, none twice', async () => {
    const { callId, sessionKey } = await begin();
    await store.openTurn({ callId, turn: 1, sessionKey, startedAt: 5 });

    await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        store.commitTurn(callId, 1, { tools: [tool(`t${index % 20}`)] }),
      ),
    );

    const [turn] = await store.listTurns(sessionKey, 1);
    expect(turn?.tools.map((each) => each.callId).sort()).toEqual(
      Array.from({ length: 20 }, (_, index) => `t${index}`).sort(),
    );
  });

  it('lists a bounded number of rows, whatever is asked for', async () => {
    const { callId, sessionKey } = await begin();
    for (let turn = 0; turn <= MAX_LIST_ROWS; turn += 1) {
      await store.openTurn({ callId, turn, sessionKey, startedAt: turn });
    }

    const turns = await store.listTurns(sessionKey, Number.MAX_SAFE_INTEGER);

    expect(turns).toHaveLength(MAX_LIST_ROWS);
    expect(turns.at(-1)?.turn).toBe(MAX_LIST_ROWS);
    expect(await store.listTurns(sessionKey, -1)).toEqual([]);
  });

  it('names final turns until the session files hold them', async () => {
    const { callId, sessionKey } = await begin();
    await store.openTurn({ callId, turn: 0, sessionKey, startedAt: 1 });
    await store.openTurn({ callId, turn: 1, sessionKey, startedAt: 2 });
    const mine = async () => {
      const turns = await store.listUnprojectedTurns(1000);
      return turns.filter((turn) => turn.callId === callId).map((turn) => turn.turn);
    };
    expect(await mine()).toEqual([]);

    await store.commitTurn(callId, 1, { userText: 'one', finalAt: 4 });
    await store.commitTurn(callId, 0, { userText: 'nil', finalAt: 5 });
    expect(await mine()).toEqual([0, 1]);
    await store.markProjected([{ callId, turn: 0 }]);
    expect(await mine()).toEqual([1]);
    await store.markProjected([
      { callId, turn: 0 },
      { callId, turn: 1 },
    ]);
    expect(await mine()).toEqual([]);
  });

  it('closes what a crash left open: the calls as crashed, their turns as final', async () => {
    await store.closeStaleCalls(1);
    const { callId, sessionKey } = await begin();
    const ended = await begin();
    await store.openTurn({ callId, turn: 1, sessionKey, startedAt: 5 });
    await store.commitTurn(callId, 1, { userText: 'cut off' });
    await store.endCall(ended.callId, 6, 'silence');

    const closed = await store.closeStaleCalls(77);

    expect(closed).toBe(1);
    expect(await store.getCall(callId)).toMatchObject({ endedAt: 77, endReason: 'crashed' });
    expect(await store.getCall(ended.callId)).toMatchObject({ endedAt: 6, endReason: 'silence' });
    expect(await store.listTurns(sessionKey, 1)).toMatchObject([{ userText: 'cut off', finalAt: 77 }]);
    expect(await store.closeStaleCalls(78)).toBe(0);
  });
}
