import { describe, expect, it } from 'vitest';
import { MAX_PENDING_PER_SESSION } from '../../src/approval/index.ts';
import { VirtualClock } from '../../src/clock-virtual.ts';
import { MemoryApprovalStore } from './memory-store.ts';
import { rig, settle, statusOf } from './rig.ts';

const DELETE = { requireApproval: ['delete_*', 'send_email'] };
const file = { path: 'report.txt' };

describe('the gate in front of a tool', () => {
  it('says nothing about a tool that is not designated, and does no I/O for it', async () => {
    const store = new MemoryApprovalStore();
    const { call, tools, system } = await rig({ toolGate: DELETE, store });
    const before = store.operations;

    const result = await call('read_file', file);

    expect(result).toEqual({ content: 'read_file done', isError: false });
    expect(tools.ran).toHaveLength(1);
    expect(store.operations).toBe(before);
    expect(system.gate.concerns('read_file')).toBe(false);
  });

  it('stages a designated call: not an error, not run, and the model knows what not to do', async () => {
    const { call, tools, onlyPending } = await rig({ toolGate: DELETE });

    const result = await call('delete_file', file);

    expect(result.isError).toBe(false);
    const { status, message, request } = JSON.parse(String(result.content));
    expect(status).toBe('staged');
    expect(message).toMatch(/has not run.*do not call it again/s);
    expect(tools.ran).toEqual([]);
    const record = await onlyPending();
    expect(record).toMatchObject({
      id: request,
      tool: 'delete_file',
      args: '{"path":"report.txt"}',
      mode: 'deferred',
      status: 'pending',
    });
    expect(record.id).toMatch(/^[0-9a-f]{32}$/);
  });

  it('refuses a denied tool, whoever would approve it', async () => {
    const { call, tools } = await rig({ toolGate: { ...DELETE, deny: ['delete_file'] } });

    const result = await call('delete_file', file);

    expect(result.isError).toBe(true);
    expect(statusOf(result)).toBe('denied');
    expect(tools.ran).toEqual([]);
  });

  it('lets everything but what is denied pass when approvals are off for this process', async () => {
    const { call, tools } = await rig({ toolGate: { ...DELETE, deny: ['delete_all'] }, mode: 'off' });

    await call('delete_file', file);
    await call('delete_all');

    expect(tools.ran.map((each) => each.name)).toEqual(['delete_file']);
  });

  it('is off with enabled: false, lists or not', async () => {
    const { call, tools } = await rig({ toolGate: { ...DELETE, deny: ['x'], enabled: false } });

    await call('delete_file', file);
    await call('x');

    expect(tools.ran).toHaveLength(2);
  });

  it('runs the stored arguments exactly once when it is approved', async () => {
    const { call, tools, approve, onlyPending, store, messages } = await rig({ toolGate: DELETE });
    await call('delete_file', '{"path" : "report.txt"}');
    const { id } = await onlyPending();

    expect((await approve(id)).ok).toBe(true);
    await settle();

    expect(tools.ran).toEqual([{ name: 'delete_file', args: file, sessionKey: 'telegram:1' }]);
    const record = await store.getApproval(id);
    expect(record).toMatchObject({
      status: 'executed',
      decidedBy: 'operator',
      decidedInput: 'page',
      outcome: 'delete_file done',
      args: null,
    });
    expect(messages).toEqual([
      {
        channel: 'telegram',
        chatId: '1',
        text: expect.stringContaining(`Request ${id} (delete_file) was approved and ran once`),
      },
    ]);
    expect(record?.deliveredAt).not.toBeNull();
  });

  it('gates a second call of the same tool again, even while the first is replayed', async () => {
    const { call, tools, approve, onlyPending, store } = await rig({ toolGate: DELETE });
    let inner: string | null = null;
    tools.run = async (name) => {
      // A tool that calls itself, and another, through the same path: the token is spent.
      if (name === 'delete_file') {
        inner = statusOf(
          await tools.executeTool('telegram:1', 'delete_file', file, { channel: 'telegram', chatId: '1' }),
        );
        await tools.executeTool('telegram:1', 'send_email', file, { channel: 'telegram', chatId: '1' });
      }
      return { content: 'done', isError: false };
    };
    await call('delete_file', file);

    await approve((await onlyPending()).id);
    await settle();

    expect(inner).toBe('staged');
    expect(tools.ran).toHaveLength(1);
    expect(await store.listApprovals({ status: ['pending'] })).toHaveLength(2);
  });

  it('asks again for other arguments: they are another approval', async () => {
    const { call, approve, onlyPending, tools, store } = await rig({ toolGate: DELETE });
    await call('delete_file', file);
    await approve((await onlyPending()).id);
    await settle();

    const again = await call('delete_file', { path: 'other.txt' });

    expect(statusOf(again)).toBe('staged');
    expect(tools.ran).toHaveLength(1);
    const [one, two] = await store.listApprovals();
    expect(one?.argsHash).not.toBe(two?.argsHash);
  });

  it('lets a token of one tool pass no other tool, and none of another session', async () => {
    const { call, tools, approve, onlyPending, store } = await rig({ toolGate: DELETE });
    tools.run = async (name) => {
      if (name === 'delete_file' && tools.ran.length === 1) {
        await tools.executeTool('telegram:2', 'delete_file', file, { channel: 'telegram', chatId: '2' });
      }
      return { content: 'done', isError: false };
    };
    await call('delete_file', file);
    await approve((await onlyPending()).id);
    await settle();

    expect(tools.ran).toHaveLength(1);
    expect((await store.listApprovals({ status: ['pending'] })).map((each) => each.sessionKey)).toEqual([
      'telegram:2',
    ]);
  });

  it('gives the same request to a model that asks again for what waits', async () => {
    const { call, store } = await rig({ toolGate: DELETE });

    const [a, b] = [await call('delete_file', { b: 1, a: 2 }), await call('delete_file', { a: 2, b: 1 })];

    expect(a).toEqual(b);
    expect(await store.listApprovals()).toHaveLength(1);
  });

  it('bounds what waits for one session, and refuses the next without running it', async () => {
    const { call, tools, store } = await rig({ toolGate: DELETE });
    for (let i = 0; i < MAX_PENDING_PER_SESSION; i++) await call('delete_file', { path: `${i}` });

    const result = await call('delete_file', { path: 'one more' });

    expect(result.isError).toBe(true);
    expect(tools.ran).toEqual([]);
    expect(await store.listApprovals()).toHaveLength(MAX_PENDING_PER_SESSION);
  });

  it.each([['[1]'], ['{"a":'], ['"x"']])(
    'refuses arguments that no person can be shown: %s',
    async (args) => {
      const { call, tools, store } = await rig({ toolGate: DELETE });

      const result = await call('delete_file', args);

      expect(result.isError).toBe(true);
      expect(tools.ran).toEqual([]);
      expect(await store.listApprovals()).toEqual([]);
    },
  );

  it('runs nothing when the store fails: it does not fail open', async () => {
    const store = new MemoryApprovalStore();
    const { call, tools } = await rig({ toolGate: DELETE, store });
    store.beforeEach = async () => {
      throw new Error('disk');
    };

    const result = await call('delete_file', file);

    expect(result.isError).toBe(true);
    expect(result.content).toContain('has not run');
    expect(tools.ran).toEqual([]);
  });

  it('writes nothing of arguments or results into the events', async () => {
    const { call, approve, onlyPending, store } = await rig({ toolGate: DELETE });
    await call('delete_file', { path: 'very-private.txt' });
    const { id } = await onlyPending();
    await approve(id);
    await settle();

    const events = await store.listApprovalEvents(id);

    expect(events.map((each) => each.kind)).toEqual([
      'requested',
      'decided',
      'claimed',
      'executed',
      'delivered',
    ]);
    expect(JSON.stringify(events)).not.toContain('private');
  });
});

describe('a decision', () => {
  it('of two at the same moment is one: the other learns that it was decided', async () => {
    const { call, approve, onlyPending, approvals, tools } = await rig({ toolGate: DELETE });
    await call('delete_file', file);
    const { id } = await onlyPending();

    const [one, two] = await Promise.all([
      approve(id, { by: 'operator' }),
      approvals.decide({ id, approve: false, by: 'operator', input: 'command_line' }),
    ]);
    await settle();

    expect([one.ok, two.ok].filter(Boolean)).toHaveLength(1);
    expect([one, two].find((each) => !each.ok)).toMatchObject({ why: 'already_decided' });
    expect(tools.ran).toHaveLength(one.ok ? 1 : 0);
  });

  it('that comes too late changes nothing, and neither does one that was overtaken by time before it ran', async () => {
    const clock = new VirtualClock();
    const { call, approve, onlyPending, tools, store } = await rig({
      toolGate: { ...DELETE, deferred: { pendingTtlHours: 1 } },
      clock,
      started: false,
    });
    await call('delete_file', file);
    await call('delete_file', { path: 'b' });
    const [b, a] = await store.listApprovals();
    await approve(b!.id);
    await clock.advance(3_600_001);

    expect(await approve(a!.id)).toMatchObject({ ok: false, why: 'expired' });
    void onlyPending;
    expect(tools.ran).toEqual([]);
  });

  it('past its time between approval and replay is expired and does not run', async () => {
    const clock = new VirtualClock();
    const { system, host, call, approve, tools, store } = await rig({
      toolGate: { ...DELETE, deferred: { pendingTtlHours: 1 } },
      clock,
      started: false,
    });
    await call('delete_file', file);
    const [record] = await store.listApprovals();
    await approve(record!.id);
    await clock.advance(3_600_001);

    await system.start(host);
    await settle();

    expect((await store.getApproval(record!.id))?.status).toBe('expired');
    expect(tools.ran).toEqual([]);
    await system.close();
  });

  it('is swept when nobody comes: silence is not consent', async () => {
    const clock = new VirtualClock();
    const { call, tools, store, messages, system } = await rig({
      toolGate: { ...DELETE, deferred: { pendingTtlHours: 1 } },
      clock,
    });
    await call('delete_file', file);

    await clock.advance(3_700_000);

    expect((await store.listApprovals())[0]?.status).toBe('expired');
    expect(messages[0]?.text).toContain('Silence is not consent');
    expect(tools.ran).toEqual([]);
    await system.close();
  });

  const anna = { name: 'anna', senders: ['telegram:77'] };
  it('needs a listed approver, and says so without changing anything', async () => {
    const { call, approve, onlyPending, store } = await rig({ toolGate: { ...DELETE, approvers: [anna] } });
    await call('delete_file', file);
    const { id } = await onlyPending();

    expect(await approve(id, { by: 'mallory', input: 'message' })).toMatchObject({
      ok: false,
      why: 'not_an_approver',
    });
    expect((await store.getApproval(id))?.status).toBe('pending');
    expect((await store.listApprovalEvents(id)).at(-1)).toMatchObject({ kind: 'refused', by: 'mallory' });
    expect((await approve(id, { by: 'anna', input: 'message' })).ok).toBe(true);
  });

  it('is not the requester’s own where the policy separates them', async () => {
    const { call, approve, onlyPending } = await rig({
      toolGate: { ...DELETE, separateRequester: true, approvers: [anna] },
    });
    await call('delete_file', file, { sessionKey: 'telegram:77', chatId: '77' });
    const { id } = await onlyPending();

    expect(await approve(id, { by: 'anna', input: 'message', sender: 'telegram:77' })).toMatchObject({
      ok: false,
      why: 'own_request',
    });
    expect((await approve(id, { by: 'operator' })).ok).toBe(true);
  });

  it('by an input that is weaker than the tool wants is none, while a no counts by any', async () => {
    const { call, approve, onlyPending, approvals } = await rig({
      toolGate: { ...DELETE, inline: { minimum: { 'delete_*': 'keypad', delete_file: 'button' } } },
    });
    await call('delete_file', file);
    const { id } = await onlyPending();

    expect(await approve(id, { input: 'speech' })).toMatchObject({ ok: false, why: 'input_too_weak' });
    expect(await approve(id, { input: 'keypad' })).toMatchObject({ ok: false, why: 'input_too_weak' });
    expect((await approvals.decide({ id, approve: false, by: 'operator', input: 'speech' })).ok).toBe(true);
  });

  it('is checked against the policy again when it runs: a tool that is denied meanwhile does not', async () => {
    const { system, host, call, approve, onlyPending, tools, store } = await rig({
      toolGate: DELETE,
      started: false,
    });
    await call('delete_file', file);
    const { id } = await onlyPending();
    await approve(id);
    system.policy.offer({ ...system.policy.current.config, deny: ['delete_file'] });

    await system.start(host);
    await settle();

    expect(await store.getApproval(id)).toMatchObject({
      status: 'cancelled',
      reason: 'the policy forbids it now',
    });
    expect(tools.ran).toEqual([]);
  });

  it.each<[string, object, string]>([
    ['who gave it may not any more', { approvers: [{ name: 'bob' }] }, 'who approved it may not any more'],
    [
      'it wants more than a key now',
      { inline: { minimum: { 'delete_*': 'button' } } },
      'the policy wants a stronger approval now',
    ],
    [
      'who asked may not approve any more',
      { separateRequester: true },
      'who asked for it may not approve it any more',
    ],
  ])('is checked against the policy again when it runs: %s', async (_what, edit, reason) => {
    const toolGate = { ...DELETE, approvers: [{ name: 'anna' }] };
    const store = new MemoryApprovalStore();
    const first = await rig({ toolGate, started: false, store });
    await first.call('delete_file', file);
    const { id } = await first.onlyPending();
    store.rows.set(id, { ...store.rows.get(id)!, requester: 'anna' });
    expect((await first.approve(id, { by: 'anna', input: 'keypad' })).ok).toBe(true);

    // The process comes back with another config.
    const second = await rig({ toolGate: { ...toolGate, ...edit }, store });
    await settle();

    expect(await store.getApproval(id)).toMatchObject({ status: 'cancelled', reason });
    expect(second.tools.ran).toEqual([]);
  });

  it('does not run arguments that were changed in the store after it', async () => {
    const store = new MemoryApprovalStore();
    const { system, host, call, approve, onlyPending, tools } = await rig({
      toolGate: DELETE,
      store,
      started: false,
    });
    await call('delete_file', file);
    const { id } = await onlyPending();
    await approve(id);
    store.rows.set(id, { ...store.rows.get(id)!, args: '{"path":"/etc/passwd"}' });

    await system.start(host);
    await settle();

    expect(store.rows.get(id)?.status).toBe('cancelled');
    expect(tools.ran).toEqual([]);
  });

  it('of another tenant’s is not run', async () => {
    const store = new MemoryApprovalStore();
    const { system, host, call, approve, onlyPending, tools } = await rig({
      toolGate: DELETE,
      store,
      started: false,
    });
    await call('delete_file', file);
    const { id } = await onlyPending();
    await approve(id);
    store.rows.set(id, { ...store.rows.get(id)!, tenant: 'other' });

    await system.start(host);
    await settle();

    expect(store.rows.get(id)?.status).toBe('cancelled');
    expect(tools.ran).toEqual([]);
  });
});

describe('the run of an approved call', () => {
  it('is one, of two workers', async () => {
    const store = new MemoryApprovalStore();
    const first = await rig({ toolGate: DELETE, store, executor: 'one' });
    const second = await rig({ toolGate: DELETE, store, executor: 'two' });
    await first.call('delete_file', file);
    const { id } = await first.onlyPending();
    store.beforeEach = () => Promise.resolve();

    await first.approve(id);
    second.system.approvals.emit('changed', store.rows.get(id)!);
    await settle();

    expect(first.tools.ran.length + second.tools.ran.length).toBe(1);
    expect(store.rows.get(id)?.status).toBe('executed');
  });

  it('that was under way when the process died is unknown, told as such, and never tried again', async () => {
    const store = new MemoryApprovalStore();
    const first = await rig({ toolGate: DELETE, store });
    first.tools.run = () => new Promise(() => {});
    await first.call('delete_file', file);
    const { id } = await first.onlyPending();
    await first.approve(id);
    await settle();
    expect(store.rows.get(id)?.status).toBe('executing');

    const second = await rig({ toolGate: DELETE, store });
    await settle();

    expect(store.rows.get(id)).toMatchObject({ status: 'unknown', resolution: null });
    expect(second.tools.ran).toEqual([]);
    expect(second.messages[0]?.text).toContain('not known whether it took effect');
  });

  it('of another process that still lives is left alone', async () => {
    const store = new MemoryApprovalStore();
    const first = await rig({ toolGate: DELETE, store, executor: 'one' });
    first.tools.run = () => new Promise(() => {});
    await first.call('delete_file', file);
    const { id } = await first.onlyPending();
    await first.approve(id);
    await settle();

    await rig({ toolGate: DELETE, store, executor: 'two' });

    expect(store.rows.get(id)?.status).toBe('executing');
  });

  it('that is unknown can be closed by a person, once, which runs nothing', async () => {
    const store = new MemoryApprovalStore();
    const first = await rig({ toolGate: DELETE, store });
    first.tools.run = () => new Promise(() => {});
    await first.call('delete_file', file);
    const { id } = await first.onlyPending();
    await first.approve(id);
    await settle();
    const { approvals, tools } = await rig({ toolGate: DELETE, store });

    expect(await approvals.resolve(id, 'did_not_happen', 'operator')).toMatchObject({
      resolution: 'did_not_happen',
    });
    expect(await approvals.resolve(id, 'happened', 'operator')).toBeNull();
    await settle();
    expect(tools.ran).toEqual([]);
  });

  it('that does not come back in time is aborted, and unknown when even that does not bring it back', async () => {
    const clock = new VirtualClock();
    const { call, tools, approve, onlyPending, store, system } = await rig({
      toolGate: DELETE,
      clock,
      toolTimeoutMs: 1000,
    });
    const aborted: boolean[] = [];
    tools.run = (_name, _args, signal) =>
      new Promise(() => signal?.addEventListener('abort', () => aborted.push(true)));
    await call('delete_file', file);
    const { id } = await onlyPending();
    clock.track = (work) => work;
    await approve(id);

    await clock.advance(7000);

    expect(aborted).toEqual([true]);
    expect((await store.getApproval(id))?.status).toBe('unknown');
    void system;
  });

  it('that fails is failed, with its result, and is not tried again', async () => {
    const { call, tools, approve, onlyPending, store, messages } = await rig({ toolGate: DELETE });
    tools.run = () => ({ content: 'no such file', isError: true });
    await call('delete_file', file);
    const { id } = await onlyPending();
    await approve(id);
    await settle();

    expect(await store.getApproval(id)).toMatchObject({ status: 'failed', outcome: 'no such file' });
    expect(messages[0]?.text).toContain('no such file');
    expect(tools.ran).toHaveLength(1);
  });
});

describe('a grant', () => {
  it('for once lets nothing else pass', async () => {
    const { call, approve, onlyPending, tools, store } = await rig({ toolGate: DELETE });
    await call('delete_file', file);
    await approve((await onlyPending()).id);
    await settle();

    expect(statusOf(await call('delete_file', file))).toBe('staged');
    expect(tools.ran).toHaveLength(1);
    expect(await store.listAllGrants(10)).toEqual([]);
  });

  it('for a session holds in that session only, and for that tool only', async () => {
    const { call, approve, onlyPending } = await rig({ toolGate: DELETE });
    await call('delete_file', file);
    await approve((await onlyPending()).id, { scope: 'session' });
    await settle();

    expect(statusOf(await call('delete_file', { path: 'other' }))).toBe('ran');
    expect(statusOf(await call('delete_file', file, { sessionKey: 'telegram:2', chatId: '2' }))).toBe(
      'staged',
    );
    expect(statusOf(await call('send_email', {}))).toBe('staged');
  });

  it('for good comes from the page or the command line, never by message, key or voice', async () => {
    for (const input of ['message', 'webhook', 'keypad', 'speech', 'button'] as const) {
      const { call, approve, onlyPending } = await rig({ toolGate: DELETE });
      await call('delete_file', file);
      expect(await approve((await onlyPending()).id, { scope: 'permanent', input })).toMatchObject({
        ok: false,
        why: 'scope_not_allowed',
      });
    }
    const { call, approve, onlyPending } = await rig({ toolGate: DELETE });
    await call('delete_file', file);
    await approve((await onlyPending()).id, { scope: 'permanent', input: 'command_line' });
    await settle();
    expect(statusOf(await call('delete_file', { path: 'x' }, { sessionKey: 'telegram:9' }))).toBe('ran');
  });

  it('can be bound to argument values', async () => {
    const { call, approve, onlyPending } = await rig({
      toolGate: { ...DELETE, grantArguments: { send_email: ['to'] } },
    });
    await call('send_email', { to: 'a@x.com', subject: '1' });
    await approve((await onlyPending()).id, { scope: 'session' });
    await settle();

    expect(statusOf(await call('send_email', { to: 'a@x.com', subject: '2' }))).toBe('ran');
    expect(statusOf(await call('send_email', { to: 'b@x.com', subject: '2' }))).toBe('staged');
    expect(statusOf(await call('send_email', { subject: '2' }))).toBe('staged');
  });

  it('of the config’s holds from the start, for its tool and its values', async () => {
    const { call } = await rig({
      toolGate: { ...DELETE, grants: [{ tool: 'send_*', args: { to: 'a@x.com' } }] },
    });

    expect(statusOf(await call('send_email', { to: 'a@x.com' }))).toBe('ran');
    expect(statusOf(await call('send_email', { to: 'b@x.com' }))).toBe('staged');
  });

  it('is gone at once when it is revoked', async () => {
    const { call, approve, onlyPending, store } = await rig({ toolGate: DELETE });
    await call('delete_file', file);
    await approve((await onlyPending()).id, { scope: 'session' });
    await settle();
    const [grant] = await store.listAllGrants(10);

    await store.revokeGrants({ id: grant!.id }, 1);

    expect(statusOf(await call('delete_file', { path: 'z' }))).toBe('staged');
  });
});
