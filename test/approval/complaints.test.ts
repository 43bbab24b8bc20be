/**
 * What went wrong elsewhere, by the numbers of the list of public complaints, and the checklist of the gate: each that can
 * happen here is a test.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { laterText } from '../../src/approval/outcome-texts.ts';
import { loadAudio } from '../../src/audio/index.ts';
import { VirtualClock } from '../../src/clock-virtual.ts';
import { FakeFloor, StubRecogniser } from './fake-line.ts';
import { MemoryApprovalStore } from './memory-store.ts';
import { type RigOptions, rig, settle, statusOf } from './rig.ts';

beforeAll(() => loadAudio());

const GATE: NonNullable<RigOptions['toolGate']> = {
  requireApproval: ['send_email', 'delete_*'],
  approvers: [{ name: 'anna', senders: ['telegram:77', 'mail:a@example.com'] }],
};
const INLINE = { ...GATE, defaultMode: 'inline' as const, approvers: [] };

async function line(callId = 'call-1', world?: Awaited<ReturnType<typeof rig>>) {
  const clock = (world?.clock as VirtualClock | undefined) ?? new VirtualClock();
  const recogniser = new StubRecogniser();
  const gate = world ?? (await rig({ toolGate: INLINE, clock, recogniser }));
  const floor = new FakeFloor({ clock, callId });
  floor.attach(gate.system.inline.attach(floor));
  const ask = (path: string) =>
    gate.call('delete_file', { path }, { channel: 'realtime', callId, sessionKey: floor.sessionKey });
  return { ...gate, clock, floor, ask };
}

const command = (
  world: Awaited<ReturnType<typeof rig>>,
  content: string,
  senderId = '77',
  channel = 'telegram',
) => world.system.command({ channel, senderId, chatId: 'x', content });

describe('public complaint', () => {
  it('1: a restart of the gateway does not destroy what waits', async () => {
    const store = new MemoryApprovalStore();
    const first = await rig({ toolGate: GATE, store });
    await first.call('delete_file');
    const { id } = await first.onlyPending();
    await first.system.close();

    const second = await rig({ toolGate: GATE, store });
    expect((await second.onlyPending()).id).toBe(id);
    await second.approve(id);
    await settle();
    expect(second.tools.ran).toHaveLength(1);
  });

  it('2, 3: a decision names its request; the second of two is approved without touching the first', async () => {
    const { call, store, approve, tools } = await rig({ toolGate: GATE });
    await call('delete_file', { path: 'first' });
    await call('delete_file', { path: 'second' });
    const second = (await store.listApprovals()).find((each) => each.summary.includes('second'))!;

    await approve(second.id);
    await settle();

    expect(tools.ran.map((each) => each.args)).toEqual([{ path: 'second' }]);
    expect(await store.listApprovals({ status: ['pending'] })).toHaveLength(1);
  });

  it.each(['yes', 'ok', '👍', 'approve', 'go ahead', 'always', 'approve all'])(
    '4, 15: “%s” in a chat approves nothing',
    async (text) => {
      const world = await rig({ toolGate: GATE });
      await world.call('delete_file');

      expect(world.system.isCommand(text)).toBe(false);
      expect(await command(world, text)).toBeNull();
      expect(await command(world, '/approve')).toContain('Usage');
      expect(await command(world, `/approve ${(await world.onlyPending()).id} sure`)).toContain('Usage');
      expect(world.tools.ran).toEqual([]);
    },
  );

  it('5, 8: `/approve <id>` in a chat resolves it, and an empty id is told so', async () => {
    const world = await rig({ toolGate: GATE });
    await world.call('delete_file');
    const { id } = await world.onlyPending();

    expect(await command(world, '/approve  ')).toContain('Usage');
    expect(await command(world, `/approve ${id.slice(0, 8)}`)).toContain('Approved');
    await settle();
    expect(world.tools.ran).toHaveLength(1);
  });

  it('6: after the time is over nothing runs, and the model is told not to go round it', async () => {
    const world = await line();
    await world.ask('a');
    await world.clock.advance(100_000);
    const { id } = (await world.store.listApprovals())[0]!;

    expect(world.floor.told).toEqual([expect.stringMatching(/Silence is not consent: nothing ran/)]);
    expect(world.floor.told[0]).toMatch(/Do not retry by yourself/);
    world.floor.press(world.floor.code);
    expect((await world.approve(id)).ok).toBe(false);
    await world.clock.advance(10_000);
    expect(world.tools.ran).toEqual([]);
  });

  it('7: a deferred request is announced, in every chat that the config names', async () => {
    const world = await rig({
      toolGate: { ...GATE, deferred: { card: { notify: ['telegram:77', 'mail:x'] } } },
    });
    await world.call('delete_file', { path: 'a' });
    const { id } = await world.onlyPending();

    expect(world.messages.map((each) => each.channel)).toEqual(['telegram', 'mail']);
    expect(world.messages[0]?.text).toContain(`/approve ${id.slice(0, 8)}`);
  });

  it('9: who comes late sees what waits: a session that calls again is asked again', async () => {
    const first = await line();
    await first.ask('a');
    await first.clock.advance(4000);
    first.floor.hangUp(true);
    await first.clock.advance(1000);

    const again = await line('call-2', first);
    await first.clock.advance(4000);
    expect(again.floor.said[0]).toContain('I need your approval');
  });

  it('10, 11: a call from inside a tool, of another session or without a call is gated by its own context', async () => {
    const world = await line();
    const result = await world.tools.executeTool('cron:nightly', 'delete_file', {}, { channel: 'cron' });

    expect(statusOf(result)).toBe('staged');
    await world.clock.advance(4000);
    expect(world.floor.said).toEqual([]);
  });

  it('12: “once” is not kept as a grant', async () => {
    const { call, approve, onlyPending, store } = await rig({ toolGate: GATE });
    await call('delete_file');
    await approve((await onlyPending()).id, { scope: 'once' });
    await settle();

    expect(await store.listAllGrants(10)).toEqual([]);
    expect(statusOf(await call('delete_file'))).toBe('staged');
  });

  it('13: a second request of a session does not overwrite the first', async () => {
    const { call, store } = await rig({ toolGate: GATE });
    await call('delete_file', { path: 'a' });
    await call('send_email', { to: 'b' });

    expect((await store.listApprovals({ status: ['pending'] })).map((each) => each.tool).sort()).toEqual([
      'delete_file',
      'send_email',
    ]);
  });

  it('14, 18: nothing is called done that did not run, and nothing is promised after its time', () => {
    for (const status of ['denied', 'expired', 'cancelled', 'unknown', 'pending'] as const) {
      const text = laterText({ tool: 'x', id: 'i', status, reason: null }, null);
      expect(text).not.toMatch(/ran once|will complete/);
    }
    expect(laterText({ tool: 'x', id: 'i', status: 'expired', reason: null }, null)).not.toMatch(
      /runs by itself/,
    );
  });

  it('16: a grant for good does not override a deny', async () => {
    const { call, approve, onlyPending, system, tools } = await rig({ toolGate: GATE });
    await call('delete_file');
    await approve((await onlyPending()).id, { scope: 'permanent' });
    await settle();
    system.policy.offer({ ...system.policy.current.config, deny: ['delete_file'] });

    expect(statusOf(await call('delete_file', {}, { sessionKey: 'cron:1' }))).toBe('denied');
    expect(tools.ran).toHaveLength(1);
  });

  it('17: the same id decides from every channel, and the result goes to the chat that asked', async () => {
    const world = await rig({ toolGate: GATE });
    await world.call('delete_file', {}, { sessionKey: 'telegram:5', chatId: '5' });
    const { id } = await world.onlyPending();

    await command(world, `/approve ${id}`, 'a@example.com', 'mail');
    await settle();

    expect(world.messages).toEqual([
      { channel: 'telegram', chatId: '5', text: expect.stringContaining('ran once') },
    ]);
  });

  it('19: a late outcome is a new item, told once', async () => {
    const world = await line();
    await world.ask('a');
    await world.clock.advance(4000);
    world.floor.press(world.floor.code);
    await world.clock.advance(60_000);

    expect(world.floor.told).toHaveLength(1);
  });

  it('20: after a time-out the same can be asked for again', async () => {
    const clock = new VirtualClock();
    const { call, store, system } = await rig({
      toolGate: { ...GATE, deferred: { pendingTtlHours: 1 } },
      clock,
    });
    await call('delete_file');
    await clock.advance(3_700_000);
    expect(statusOf(await call('delete_file'))).toBe('staged');

    expect((await store.listApprovals()).map((each) => each.status).sort()).toEqual(['expired', 'pending']);
    await system.close();
  });

  it('20: after silence on the line the same can be asked for again, under another id and code', async () => {
    const world = await line();
    await world.ask('a');
    await world.clock.advance(100_000);
    const said = world.floor.said.length;

    expect(statusOf(await world.ask('a'))).toBe('pending_approval');
    await world.clock.advance(4000);
    expect(world.floor.said[said]).toContain('I need your approval');
    world.floor.press(world.floor.code);
    await world.clock.advance(5000);

    const records = await world.store.listApprovals();
    expect(records.map(({ status }) => status)).toEqual(['executed', 'expired']);
    expect(new Set(records.map(({ id }) => id)).size).toBe(2);
    expect(world.tools.ran).toHaveLength(1);
  });

  it('21: a time-out, a hang-up and a person’s no are three different records', async () => {
    const world = await line();
    await world.ask('a');
    await world.clock.advance(4000);
    world.floor.press('00');
    await world.clock.advance(5000);
    await world.ask('b');
    await world.clock.advance(100_000);
    await world.ask('c');
    await world.clock.advance(4000);
    world.floor.hangUp();
    await world.clock.advance(100);

    const records = await world.store.listApprovals();
    expect(records.map((each) => [each.status, each.decidedBy])).toEqual([
      ['cancelled', null],
      ['expired', null],
      ['denied', 'anna'],
    ]);
  });

  it('22: neither the model nor whoever asked approves: no tool and no argument decides', async () => {
    const world = await rig({ toolGate: GATE });
    await world.call('delete_file', {
      path: 'a',
      approved: true,
      approve: '47',
      confirm: 'yes',
      approvedBy: 'operator',
    });

    expect((await world.onlyPending()).status).toBe('pending');
    expect(world.tools.ran).toEqual([]);
  });

  it('23: what runs is what was approved: other arguments are another approval', async () => {
    const { call, approve, onlyPending, tools } = await rig({ toolGate: GATE });
    await call('delete_file', { path: 'a' });
    await approve((await onlyPending()).id);
    await settle();

    expect(statusOf(await call('delete_file', { path: 'b' }))).toBe('staged');
    expect(tools.ran.map((each) => each.args)).toEqual([{ path: 'a' }]);
  });

  it('24: a model that asks again and again makes one card, and a grant ends the asking', async () => {
    const { call, store, approve, onlyPending } = await rig({ toolGate: GATE });
    for (let i = 0; i < 5; i++) await call('delete_file', { path: 'a' });
    expect(await store.listApprovals()).toHaveLength(1);
    await approve((await onlyPending()).id, { scope: 'session' });
    await settle();

    for (let i = 0; i < 5; i++) expect(statusOf(await call('delete_file', { path: `${i}` }))).toBe('ran');
  });

  it('24: a grant that was given holds after a restart', async () => {
    const store = new MemoryApprovalStore();
    const first = await rig({ toolGate: GATE, store });
    await first.call('delete_file', { path: 'a' });
    await first.approve((await first.onlyPending()).id, { scope: 'permanent' });
    await settle();
    await first.system.close();

    const second = await rig({ toolGate: GATE, store });

    expect(statusOf(await second.call('delete_file', { path: 'b' }))).toBe('ran');
    expect(statusOf(await second.call('send_email'))).toBe('staged');
  });
});

describe('the checklist of the gate', () => {
  it('no config: every call behaves as before, and the gate is not made', async () => {
    const { createApprovals } = await import('../../src/approval/index.ts');
    const { approvalsSchema } = await import('../../src/config-approvals.ts');
    const { store, clock } = await rig({ toolGate: GATE, started: false });
    const shared = {
      store,
      clock,
      dataDirectory: null,
      locale: 'en-us',
      toolTimeoutMs: 1,
      executor: 'x',
    } as const;
    const { silentLogger } = await import('../../src/observe/index.ts');

    expect(
      createApprovals({ ...shared, logger: silentLogger, config: approvalsSchema.parse(undefined) }),
    ).toBeNull();
  });

  it('inline approve once, for the session, for good; deny; time-out; a prompt that fails is staged', async () => {
    for (const [scope, statuses] of [
      ['once', ['staged', 'staged']],
      ['session', ['ran', 'staged']],
      ['permanent', ['ran', 'ran']],
    ] as const) {
      const { call, approve, onlyPending } = await rig({ toolGate: GATE });
      await call('delete_file', { path: 'a' });
      await approve((await onlyPending()).id, { scope });
      await settle();
      expect([
        statusOf(await call('delete_file', { path: 'b' })),
        statusOf(await call('delete_file', { path: 'b' }, { sessionKey: 'other:1' })),
      ]).toEqual(statuses);
    }
  });

  it('no live line, unattended, force_deferred: staged, and not an error', async () => {
    const world = await rig({ toolGate: { ...INLINE, forceDeferred: ['send_*'] } });
    for (const result of [await world.call('delete_file'), await world.call('send_email')]) {
      expect([statusOf(result), result.isError]).toEqual(['staged', false]);
    }
  });

  it('the gate is at every point of dispatch: one after the other, in parallel, in the background, delegated', async () => {
    const { call, tools, store } = await rig({ toolGate: GATE });
    await call('delete_file', { path: 'sequential' });
    await Promise.all([1, 2, 3].map((n) => call('delete_file', { path: `parallel ${n}` })));
    await new Promise<void>((resolve) =>
      setImmediate(() => void call('delete_file', { path: 'background' }).then(() => resolve())),
    );
    await tools.executeTool('delegate:1', 'delete_file', { path: 'delegated' }, { channel: 'delegate' });

    expect(tools.ran).toEqual([]);
    expect(await store.listApprovals({ status: ['pending'] })).toHaveLength(6);
  });
});
