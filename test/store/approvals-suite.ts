import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ApprovalStore, NewApproval } from '../../src/store/index.ts';

const id = () => randomBytes(16).toString('hex');
const T = 1_700_000_000_000;

export const newApproval = (more: Partial<NewApproval> = {}): NewApproval => ({
  id: id(),
  tenant: 'default',
  sessionKey: `realtime:${id()}`,
  channel: 'realtime',
  chatId: 'c',
  callId: null,
  toolCallId: null,
  tool: 'delete_file',
  args: '{"path":"a.txt"}',
  argsShown: '{"path":"a.txt"}',
  argsHash: 'h',
  summary: 'delete_file(path=a.txt)',
  policyVersion: 'v',
  requester: null,
  approvers: null,
  mode: 'deferred',
  minInput: 'speech',
  createdAt: T,
  expiresAt: T + 1000,
  ...more,
});

const event = { at: T + 1, kind: 'decided', by: 'anna', input: 'button' } as const;

/** What every engine, and the double, has to do with approvals. */
export function approvalStoreContract(open: () => Promise<ApprovalStore & { close(): Promise<void> }>): void {
  let store: ApprovalStore & { close(): Promise<void> };
  beforeAll(async () => {
    store = await open();
  });
  afterAll(() => store.close());

  it('gives a record back as it was written, pending, with its first event', async () => {
    const approval = newApproval({ approvers: ['anna'], requester: 'bob', callId: 'call', toolCallId: 'tc' });

    const row = await store.insertApproval(approval);

    expect(row).toMatchObject({
      ...approval,
      status: 'pending',
      generation: 0,
      decidedAt: null,
      outcome: null,
    });
    expect(await store.getApproval(approval.id)).toEqual(row);
    expect(await store.listApprovalEvents(approval.id)).toEqual([
      { at: T, kind: 'requested', by: 'bob', input: null },
    ]);
    expect(await store.getApproval('nobody')).toBeNull();
  });

  it('refuses an id that is taken', async () => {
    const approval = newApproval();
    await store.insertApproval(approval);

    await expect(store.insertApproval(approval)).rejects.toMatchObject({ code: 'STORE_CONFLICT' });
  });

  it('lets one of two deciders win, and writes nothing for the other', async () => {
    const { id: one } = await store.insertApproval(newApproval());
    const decide = (status: 'approved' | 'denied', by: string) =>
      store.changeApproval(
        one,
        { status: ['pending'], notExpiredAt: T },
        { status, decidedBy: by, decidedAt: T + 1 },
        { ...event, by },
      );

    const results = await Promise.all([decide('approved', 'anna'), decide('denied', 'bob')]);

    expect(results.filter((each) => each !== null)).toHaveLength(1);
    expect(await store.listApprovalEvents(one)).toHaveLength(2);
    expect((await store.getApproval(one))?.decidedBy).toBe(results[0] ? 'anna' : 'bob');
  });

  it('lets one of many workers claim', async () => {
    const { id: one } = await store.insertApproval(newApproval());
    await store.changeApproval(one, { status: ['pending'] }, { status: 'approved' }, event);
    const claim = (executor: string) =>
      store.changeApproval(
        one,
        { status: ['approved'] },
        { status: 'executing', executor },
        { ...event, kind: 'claimed' },
      );

    const results = await Promise.all(['a', 'b', 'c', 'd'].map(claim));

    expect(results.filter((each) => each !== null)).toHaveLength(1);
  });

  it('compares everything it was told to expect', async () => {
    const { id: one } = await store.insertApproval(newApproval({ expiresAt: T + 10 }));
    const change = (expected: Parameters<ApprovalStore['changeApproval']>[1]) =>
      store.changeApproval(one, expected, { reason: 'x' }, event);

    expect(await change({ status: ['approved'] })).toBeNull();
    expect(await change({ status: ['pending'], generation: 1 })).toBeNull();
    expect(await change({ status: ['pending'], mode: 'inline' })).toBeNull();
    expect(await change({ status: ['pending'], notExpiredAt: T + 10 })).toBeNull();
    expect(await change({ status: ['pending'], expiredAt: T + 9 })).toBeNull();
    expect(await change({ status: ['pending'], executor: 'a' })).toBeNull();
    expect(await change({ status: ['pending'], argsHash: 'other' })).toBeNull();
    expect(await store.changeApproval('nobody', { status: ['pending'] }, {}, event)).toBeNull();
    expect(
      await change({
        status: ['pending'],
        generation: 0,
        mode: 'deferred',
        notExpiredAt: T + 9,
        argsHash: 'h',
        unresolved: true,
        undelivered: true,
      }),
    ).not.toBeNull();
    expect(await store.listApprovalEvents(one)).toHaveLength(2);
  });

  it('forgets the arguments of a terminal record and keeps the redacted copy and the hash', async () => {
    const { id: one } = await store.insertApproval(newApproval());

    const row = await store.changeApproval(one, { status: ['pending'] }, { status: 'denied' }, event);

    expect(row).toMatchObject({ args: null, argsShown: '{"path":"a.txt"}', argsHash: 'h', status: 'denied' });
  });

  it('keeps the arguments while the record can still run', async () => {
    const { id: one } = await store.insertApproval(newApproval());

    const row = await store.changeApproval(one, { status: ['pending'] }, { status: 'approved' }, event);

    expect(row?.args).toBe('{"path":"a.txt"}');
  });

  it('lists by status, session, call, expiry and executor, newest first', async () => {
    const sessionKey = `realtime:${id()}`;
    const old = await store.insertApproval(newApproval({ sessionKey, createdAt: T - 50, callId: 'one' }));
    const young = await store.insertApproval(
      newApproval({ sessionKey, createdAt: T, expiresAt: T + 99, callId: 'two' }),
    );
    const ids = async (options: Parameters<ApprovalStore['listApprovals']>[0]) =>
      (await store.listApprovals({ sessionKey, ...options })).map((each) => each.id);

    expect(await ids({})).toEqual([young.id, old.id]);
    expect(await ids({ limit: 1 })).toEqual([young.id]);
    expect(await ids({ callId: 'one' })).toEqual([old.id]);
    expect(await ids({ status: ['approved'] })).toEqual([]);
    expect(await ids({ status: ['pending'], expiredAt: T + 500 })).toEqual([young.id]);
    await store.changeApproval(old.id, { status: ['pending'] }, { executor: 'me', deliveredAt: T }, event);
    expect(await ids({ executor: 'me' })).toEqual([old.id]);
    expect(await ids({ undelivered: true })).toEqual([young.id]);
  });

  it('writes a grant with the decision that gives it, or not at all', async () => {
    const tool = `tool_${id()}`;
    const { id: one } = await store.insertApproval(newApproval({ tool }));
    const grant = (grantId: string) => ({
      id: grantId,
      tenant: 'default',
      tool,
      scope: 'session' as const,
      scopeKey: 's',
      args: '{}',
      createdAt: T,
      createdBy: 'anna',
      approvalId: one,
    });

    await store.changeApproval(one, { status: ['pending'] }, { status: 'approved' }, event, grant(id()));
    await store.changeApproval(one, { status: ['pending'] }, { status: 'approved' }, event, grant(id()));

    const query = { tenant: 'default', tool, callId: null };
    expect(await store.listGrants({ ...query, sessionKey: 's' })).toHaveLength(1);
    expect(await store.listGrants({ ...query, sessionKey: 'other' })).toHaveLength(0);
    expect(await store.listGrants({ ...query, tenant: 'other', sessionKey: 's' })).toHaveLength(0);
  });

  it('gives the grants of this call, this session and for good, and no revoked ones', async () => {
    const tool = `tool_${id()}`;
    const add = (scope: 'call' | 'session' | 'permanent', scopeKey: string) =>
      store.addGrant({
        id: `${tool}:${scope}:${scopeKey}`,
        tenant: 'default',
        tool,
        scope,
        scopeKey,
        args: '{}',
        createdAt: T,
        createdBy: 'op',
        approvalId: null,
      });
    await add('call', 'c1');
    await add('session', 's1');
    await add('permanent', '');
    const scopes = async (callId: string | null, sessionKey: string) =>
      (await store.listGrants({ tenant: 'default', tool, callId, sessionKey }))
        .map((each) => each.scope)
        .sort();

    expect(await scopes('c1', 's1')).toEqual(['call', 'permanent', 'session']);
    expect(await scopes('c2', 's1')).toEqual(['permanent', 'session']);
    expect(await scopes(null, 's2')).toEqual(['permanent']);
    expect(await store.revokeGrants({ scope: 'call', scopeKey: 'c1' }, T)).toBe(true);
    expect(await store.revokeGrants({ id: `${tool}:permanent:` }, T)).toBe(true);
    expect(await store.revokeGrants({ id: `${tool}:permanent:` }, T)).toBe(false);
    expect(await scopes('c1', 's1')).toEqual(['session']);
    expect((await store.listAllGrants(1000)).filter((each) => each.tool === tool)).toHaveLength(1);
  });

  it('bounds the refused decisions that it remembers of one record', async () => {
    const { id: one } = await store.insertApproval(newApproval());
    for (let i = 0; i < 250; i++) await store.addApprovalEvent(one, { ...event, kind: 'refused' });

    expect(await store.listApprovalEvents(one)).toHaveLength(200);
  });

  it('numbers every change, over all records, in order', async () => {
    const before = await store.lastApprovalChange();
    const one = await store.insertApproval(newApproval());
    const two = await store.insertApproval(newApproval());
    const changed = await store.changeApproval(one.id, { status: ['pending'] }, { status: 'denied' }, event);
    await store.changeApproval(two.id, { status: ['denied'] }, { status: 'expired' }, event);

    expect([one.changeNo, two.changeNo, changed!.changeNo]).toEqual([before + 1, before + 2, before + 3]);
    expect(await store.lastApprovalChange()).toBe(before + 3);
    expect(await store.listApprovalChanges(before, 10)).toEqual([two, changed]);
    expect(await store.listApprovalChanges(before, 1)).toEqual([two]);
    expect(await store.listApprovalChanges(before + 3, 10)).toEqual([]);
  });

  const limits = (since: number) => ({ since, perNumber: 2, inAll: 5 });
  const tryPin = (numberHash: string, at: number, since: number) =>
    store.takePinTry({ id: id(), numberHash, at }, limits(since));

  it('takes PIN tries up to the limit of a number and of all, and no more of many at once', async () => {
    const since = 10_000;
    const taken = await Promise.all([1, 2, 3, 4].map((n) => tryPin('a', since + n, since)));
    expect(taken.filter(Boolean)).toHaveLength(2);
    expect(await store.mayTryPin('a', limits(since))).toBe(false);
    expect(await store.mayTryPin('b', limits(since))).toBe(true);

    const others = await Promise.all(['b', 'c', 'd', 'e', 'f'].map((n) => tryPin(n, since + 9, since)));
    expect(others.filter(Boolean)).toHaveLength(3);
    expect(await store.mayTryPin('g', limits(since))).toBe(false);
    expect(await store.mayTryPin('a', limits(since + 10))).toBe(true);
    expect(await store.pinSalt()).toBe(await store.pinSalt());
  });

  it('gives back the try that was right', async () => {
    const since = 20_000;
    const mine = id();
    await store.takePinTry({ id: mine, numberHash: 'r', at: since + 1 }, { since, perNumber: 1, inAll: 5 });
    expect(await tryPin('r', since + 2, since)).toBe(true);
    expect(await tryPin('r', since + 3, since)).toBe(false);

    await store.forgivePinTry(mine);

    expect(await tryPin('r', since + 4, since)).toBe(true);
  });

  it('knows a message again, once for all who ask at the same time, and forgets the oldest of too many', async () => {
    const key = id();
    const answers = await Promise.all([1, 2, 3].map(() => store.rememberMessage(key, 100, 3)));
    expect(answers.filter(Boolean)).toHaveLength(1);

    for (const at of [101, 102, 103]) expect(await store.rememberMessage(id(), at, 3)).toBe(true);

    expect(await store.rememberMessage(key, 104, 3)).toBe(true);
    expect(await store.rememberMessage(key, 105, 3)).toBe(false);
  });

  it('forgets tries and messages that are old enough', async () => {
    await store.sweepGuards({ pinTries: 1e9, messages: 1e9 });
    await tryPin('s', 10, 0);
    await tryPin('s', 20, 0);
    await store.rememberMessage('old', 10, 10);
    await store.rememberMessage('young', 20, 10);

    expect(await store.sweepGuards({ pinTries: 10, messages: 10 })).toBe(2);

    expect(await store.mayTryPin('s', { since: 0, perNumber: 2, inAll: 9 })).toBe(true);
    expect(await store.rememberMessage('old', 30, 10)).toBe(true);
    expect(await store.rememberMessage('young', 30, 10)).toBe(false);
  });
}
