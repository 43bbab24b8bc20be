import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest';
import { realClock } from '../../../src/clock.ts';
import { PROJECTION_PAGE, projectTurns, Sessions } from '../../../src/host/sessions/index.ts';
import { openStore, type Store, type TurnOutcome } from '../../../src/store/index.ts';

const base = mkdtempSync(join(tmpdir(), 'project-'));
afterAll(() => rmSync(base, { recursive: true, force: true }));

const KEY = 'realtime:c1';
const T0 = Date.UTC(2026, 0, 2, 3, 4, 5);
let directory = '';
let round = 0;
let store: Store;
let now = T0;
const clock = { ...realClock, wallNow: () => now };

beforeEach(async () => {
  round += 1;
  now = T0;
  directory = join(base, `${round}`);
  store = await openStore({ engine: 'sqlite', file: ':memory:' });
  await store.beginCall({
    id: 'c1',
    sessionKey: KEY,
    carrier: 'wav',
    provider: 'command',
    identityStrength: 'none',
    startedAt: T0,
  });
});
afterEach(() => store.close());

const open = () => new Sessions({ directory, clock, turnsOf: (key, limit) => store.listTurns(key, limit) });

async function turn(number: number, outcome: TurnOutcome): Promise<void> {
  await store.openTurn({ callId: 'c1', turn: number, sessionKey: KEY, startedAt: T0 + number * 1000 });
  await store.commitTurn('c1', number, { finalAt: T0 + number * 1000 + 500, ...outcome });
}

const outline = async (sessions: Sessions) =>
  (await sessions.get(KEY)).rows.map((row) => `${row.role}:${row.content ?? '-'}`);

describe('the projection of turns into session files', () => {
  it('writes a turn as user, tool calls, tool results and what was heard, marked as spoken', async () => {
    await turn(1, {
      userText: 'which files?',
      assistantText: 'Two.',
      tools: [
        { callId: 't1', name: 'list_dir', args: '{"path":"."}', output: 'a\nb', isError: false },
        { callId: 't2', name: 'read_file', args: '{}', output: 'Error: no', isError: true },
      ],
    });
    const sessions = new Sessions({ directory, clock });

    await projectTurns(store, sessions);

    const common = { timestamp: '2026-01-02T03:04:06.000Z', source: 'voice', voice_turn: 'c1#1' };
    expect((await new Sessions({ directory, clock }).get(KEY)).rows).toEqual([
      { role: 'user', content: 'which files?', ...common },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 't1', type: 'function', function: { name: 'list_dir', arguments: '{"path":"."}' } },
          { id: 't2', type: 'function', function: { name: 'read_file', arguments: '{}' } },
        ],
        ...common,
      },
      { role: 'tool', tool_call_id: 't1', name: 'list_dir', content: 'a\nb', ...common },
      { role: 'tool', tool_call_id: 't2', name: 'read_file', content: 'Error: no', ...common },
      { role: 'assistant', content: 'Two.', ...common },
    ]);
  });

  it('does it once, however often it runs, and leaves out what is not final', async () => {
    await turn(0, { assistantText: 'Hello' });
    await store.openTurn({ callId: 'c1', turn: 1, sessionKey: KEY, startedAt: T0 + 1000 });
    await store.commitTurn('c1', 1, { userText: 'still talking' });
    const sessions = open();

    await projectTurns(store, sessions);
    await projectTurns(store, open());
    await Promise.all([projectTurns(store, sessions), projectTurns(store, sessions)]);

    expect(await outline(open())).toEqual(['assistant:Hello']);
  });

  it('does it once when it was cut off after the file and before the mark', async () => {
    await turn(1, { userText: 'one' });
    const cutOff: Store = { ...bound(store), markProjected: () => Promise.reject(new Error('killed')) };
    await expect(projectTurns(cutOff, new Sessions({ directory, clock }))).rejects.toThrow('killed');
    await turn(2, { userText: 'two' });

    await projectTurns(store, new Sessions({ directory, clock }));

    expect(await outline(new Sessions({ directory, clock }))).toEqual(['user:one', 'user:two']);
  });

  it('goes through more turns than one page', async () => {
    for (let number = 0; number <= PROJECTION_PAGE; number += 1)
      await turn(number, { userText: `${number}` });

    const count = await projectTurns(store, new Sessions({ directory, clock }));

    expect(count).toBe(PROJECTION_PAGE + 1);
    expect(await outline(new Sessions({ directory, clock }))).toHaveLength(PROJECTION_PAGE + 1);
    expect(await store.listUnprojectedTurns(1)).toEqual([]);
  });

  it('puts a turn where its time is, between text turns and never inside one', async () => {
    const sessions = new Sessions({ directory, clock });
    const write = async (at: number, text: string) => {
      now = T0 + at;
      await sessions.append(KEY, [{ role: 'user', content: text }]);
      now += 600;
      await sessions.append(KEY, [
        { role: 'assistant', content: null },
        { role: 'tool', tool_call_id: 'x', name: 'x', content: text },
        { role: 'assistant', content: text },
      ]);
    };
    await write(500, 'before');
    await write(1500, 'after');
    await turn(1, { userText: 'spoken', assistantText: 'heard' });
    await turn(9, { userText: 'last' });

    await projectTurns(store, sessions);

    expect(await outline(sessions)).toEqual([
      'user:before',
      'assistant:-',
      'tool:before',
      'assistant:before',
      'user:spoken',
      'assistant:heard',
      'user:after',
      'assistant:-',
      'tool:after',
      'assistant:after',
      'user:last',
    ]);
  });

  it('puts back what a session file lost when the session is read: a file that is gone, cut or damaged', async () => {
    await turn(1, { userText: 'one', assistantText: 'eins' });
    await turn(2, { userText: 'two' });
    await projectTurns(store, open());
    const [name = ''] = readdirSync(directory);
    const path = join(directory, name);
    const whole = readFileSync(path, 'utf8');
    const cut = whole.split('\n').slice(0, -2).join('\n');

    for (const broken of [null, cut, whole.slice(0, -20), '\0'.repeat(100), '']) {
      if (broken === null) rmSync(path);
      else writeFileSync(path, broken);

      expect(await outline(open())).toEqual(['user:one', 'assistant:eins', 'user:two']);
      expect(readFileSync(path, 'utf8').trimEnd().split('\n')).toHaveLength(4);
    }
  });

  it('reads a session though the store is down', async () => {
    await turn(1, { userText: 'one' });
    await projectTurns(store, open());

    const sessions = new Sessions({
      directory,
      clock,
      turnsOf: () => Promise.reject(new Error('down')),
    });

    expect(await outline(sessions)).toEqual(['user:one']);
  });
});

/** The store with its methods as own properties, for replacing one. */
function bound(original: Store): Store {
  return {
    beginCall: (call) => original.beginCall(call),
    endCall: (...args) => original.endCall(...args),
    getCall: (id) => original.getCall(id),
    listCalls: (options) => original.listCalls(options),
    closeStaleCalls: (at) => original.closeStaleCalls(at),
    openTurn: (each) => original.openTurn(each),
    commitTurn: (...args) => original.commitTurn(...args),
    listTurns: (...args) => original.listTurns(...args),
    listUnprojectedTurns: (limit) => original.listUnprojectedTurns(limit),
    markProjected: (turns) => original.markProjected(turns),
    ping: () => original.ping(),
    close: () => original.close(),
  };
}
