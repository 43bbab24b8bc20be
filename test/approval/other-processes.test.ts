/** Several processes on one store: each sees what the others do, and nothing is told or run twice because of it. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { MAX_OWN_CHANGES } from '../../src/approval/approvals.ts';
import { HookMemory } from '../../src/approval/cards/hook-memory.ts';
import { FOLLOW_EVERY_MS, FOLLOW_WATCHED_EVERY_MS } from '../../src/approval/follower.ts';
import { OperatorSecret } from '../../src/approval/index.ts';
import { loadAudio } from '../../src/audio/index.ts';
import { realClock } from '../../src/clock.ts';
import { VirtualClock } from '../../src/clock-virtual.ts';
import { realtimeConfigSchema } from '../../src/config.ts';
import { createVoiceServer } from '../../src/server/index.ts';
import { type ApprovalStore, openStore } from '../../src/store/index.ts';
import { FakeFloor, StubRecogniser } from './fake-line.ts';
import { MemoryApprovalStore } from './memory-store.ts';
import { type RigOptions, rig, statusOf } from './rig.ts';

beforeAll(() => loadAudio());

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const GATE: NonNullable<RigOptions['toolGate']> = { requireApproval: ['delete_*'], defaultMode: 'inline' };

/** Two nodes on one store and in one time; a call comes in on the first. */
async function twoNodes() {
  const clock = new VirtualClock();
  const store = new MemoryApprovalStore();
  const node = async (executor: string) => {
    const recogniser = new StubRecogniser();
    const made = await rig({ toolGate: GATE, store, clock, executor, recogniser, started: false });
    // As `start` has it: a chat of the voice channel is a call, and nobody reads messages there.
    await made.system.start({ ...made.host, message: () => false });
    return made;
  };
  const [here, there] = [await node('here'), await node('there')];
  const floor = new FakeFloor({ clock });
  floor.attach(here.system.inline.attach(floor));
  const ask = () =>
    here.call(
      'delete_file',
      { path: 'a' },
      { channel: 'realtime', callId: 'call-1', sessionKey: 'realtime:anna' },
    );
  undo.push(() => Promise.all([here.system.close(), there.system.close()]));
  return { clock, store, here, there, floor, ask };
}

describe('a decision in another process', () => {
  it('ends the prompt on the line, runs once, and is told once on the call that asked', async () => {
    const { clock, here, there, floor, ask, store } = await twoNodes();
    expect(statusOf(await ask())).toBe('pending_approval');
    await clock.advance(4000);
    const { id } = await here.onlyPending();

    expect((await there.approve(id)).ok).toBe(true);
    await clock.advance(FOLLOW_EVERY_MS + 4000);

    expect(floor.taken).toBe(false);
    expect(floor.said.at(-1)).toMatch(/^Approved/);
    expect(here.tools.ran.length + there.tools.ran.length).toBe(1);
    await clock.advance(30_000);
    expect(floor.told).toEqual([expect.stringMatching(/was approved and ran once/)]);
    expect((await store.getApproval(id))?.deliveredAt).not.toBeNull();
  });

  it('of a request that waits behind another takes it out of the line', async () => {
    const { clock, here, there, floor } = await twoNodes();
    const ask = (path: string) =>
      here.call(
        'delete_file',
        { path },
        { channel: 'realtime', callId: 'call-1', sessionKey: 'realtime:anna' },
      );
    await ask('a');
    await ask('b');
    await clock.advance(4000);
    const second = (await here.store.listApprovals()).find(({ args }) => args === '{"path":"b"}')!;

    await there.system.approvals.decide({ id: second.id, approve: false, by: 'operator', input: 'page' });
    await clock.advance(FOLLOW_EVERY_MS + 100);
    floor.press(floor.code);
    await clock.advance(20_000);

    expect(floor.said.filter((text) => /delete file: b/.test(text))).toEqual([]);
    expect(floor.told).toHaveLength(2);
    expect(here.tools.ran.length + there.tools.ran.length).toBe(1);
  });

  it('is passed on once, and what this process did itself is not', async () => {
    const { clock, here, there } = await twoNodes();
    const seen: string[] = [];
    here.approvals.on('changedElsewhere', ({ status }) => seen.push(status));
    await here.call('delete_file', { path: 'x' });
    await clock.advance(3000);
    expect(seen).toEqual([]);

    const { id } = await here.onlyPending();
    await there.system.approvals.decide({ id, approve: false, by: 'operator', input: 'page' });
    await clock.advance(3000);

    expect(seen[0]).toBe('denied');
    expect(new Set(seen)).toEqual(new Set(['denied']));
    const told = seen.length;
    await clock.advance(60_000);
    expect(seen).toHaveLength(told);
  });

  it('is told apart from our own as long as no more than so many of ours have not come by', async () => {
    const { approvals, store, call, onlyPending } = await rig({ toolGate: GATE, started: false });
    await call('delete_file', { path: 'x' });
    const first = await onlyPending();
    const seen: number[] = [];
    approvals.on('changedElsewhere', ({ changeNo }) => seen.push(changeNo));
    const event = { kind: 'refused', by: null, input: null } as const;
    for (let i = 0; i < MAX_OWN_CHANGES; i++)
      await approvals.change(first.id, { status: ['pending'] }, { reason: `${i}` }, event);
    const last = await onlyPending();

    approvals.follow(first);
    approvals.follow(last);

    expect(last.changeNo - first.changeNo).toBe(MAX_OWN_CHANGES);
    expect(seen).toEqual([first.changeNo]);
    expect(await store.lastApprovalChange()).toBe(last.changeNo);
  });
});

describe('following the store', () => {
  it('looks by itself less often where the store wakes it, and again when the watch is lost', async () => {
    const clock = new VirtualClock();
    const store: ApprovalStore & MemoryApprovalStore = new MemoryApprovalStore();
    let wake = () => {};
    const watch = { isOpen: true, close: async () => {} };
    let opened = 0;
    store.watchApprovals = async (onWake) => {
      opened++;
      wake = onWake;
      watch.isOpen = true;
      return watch;
    };
    const { ChangeFollower } = await import('../../src/approval/follower.ts');
    const { silentLogger } = await import('../../src/observe/index.ts');
    const seen: number[] = [];
    const follower = new ChangeFollower({
      store,
      clock,
      logger: silentLogger,
      onChange: ({ changeNo }) => seen.push(changeNo),
    });
    const { newApproval } = await import('../store/approvals-suite.ts');
    await follower.start();

    await store.insertApproval(newApproval());
    await clock.advance(FOLLOW_WATCHED_EVERY_MS - 100);
    expect(seen).toEqual([]);
    wake();
    await clock.advance(1);
    expect(seen).toEqual([1]);

    watch.isOpen = false;
    await store.insertApproval(newApproval());
    await clock.advance(FOLLOW_WATCHED_EVERY_MS + FOLLOW_EVERY_MS);
    expect(seen).toEqual([1, 2]);
    expect(opened).toBe(2);
    await follower.close();
    const { operations } = store;
    await clock.advance(60_000);
    expect(store.operations).toBe(operations);
  });
});

describe('the board', { timeout: 60_000 }, () => {
  it('shows live what another process decided on the same database', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'processes-'));
    undo.push(() => rmSync(directory, { recursive: true, force: true }));
    const file = join(directory, 'realtime.db');
    const store = await openStore({ engine: 'sqlite', file });
    undo.push(() => store.close());
    const gate = await rig({ toolGate: { requireApproval: ['delete_*'] }, store, clock: realClock });
    undo.push(() => gate.system.close());
    const secret = new OperatorSecret(directory);
    const token = (await secret.open(0)) ?? '';
    const server = createVoiceServer({
      config: realtimeConfigSchema.parse({ server: { port: 0 } }),
      desk: { activeCalls: 0, pendingCalls: 0, isDraining: false, drain: async () => {} } as never,
      env: {},
      operator: { approvals: gate.system, secret },
    });
    undo.push(() => server.close(0));
    const { url: origin } = await server.listen();
    const login = await fetch(`${origin}/operator/login`, {
      method: 'POST',
      redirect: 'manual',
      headers: { origin },
      body: new URLSearchParams({ token }),
    });
    const cookie = (login.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
    await gate.call('delete_file', { path: 'x' });
    const { id } = await gate.onlyPending();
    const board = new WebSocket(`${origin.replace('http', 'ws')}/operator/live`, {
      headers: { cookie, origin },
    });
    undo.push(() => board.terminate());
    await once(board, 'message');
    const columns: string[] = [];
    board.on('message', (data) => {
      const { approval } = JSON.parse(String(data)) as { approval: { id: string; column: string } };
      if (approval.id === id) columns.push(approval.column);
    });

    const child = fileURLToPath(new URL('./decide-child.ts', import.meta.url));
    await promisify(execFile)(process.execPath, [
      '--disable-warning=ExperimentalWarning',
      child,
      file,
      id,
      'deny',
    ]);

    await expect.poll(() => columns, { timeout: 10_000 }).toContain('Denied');
  });
});

describe('a message that decided', () => {
  it('is known again after a restart and in another process; of two at once one is new', async () => {
    const directory = mkdtempSync(join(tmpdir(), 'messages-'));
    undo.push(() => rmSync(directory, { recursive: true, force: true }));
    const open = () => openStore({ engine: 'sqlite', file: join(directory, 'realtime.db') });
    const [one, two] = [await open(), await open()];
    const message = { replayKey: 'signed:msg_1' };
    const both = await Promise.all(
      [one, two].map((store) => new HookMemory(store, realClock).isNew(message)),
    );
    expect(both.filter(Boolean)).toHaveLength(1);
    await Promise.all([one.close(), two.close()]);

    const after = await open();
    expect(await new HookMemory(after, realClock).isNew(message)).toBe(false);
    expect(await new HookMemory(after, realClock).isNew({ replayKey: 'signed:msg_2' })).toBe(true);
    await after.close();
  });
});
