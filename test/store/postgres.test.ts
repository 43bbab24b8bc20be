import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore, type Store } from '../../src/store/index.ts';
import { MAX_PENDING_OPERATIONS, MAX_WATCHES } from '../../src/store/postgres-store.ts';
import { approvalStoreContract, newApproval } from './approvals-suite.ts';
import { storeContract } from './contract-suite.ts';
import { mediaStoreContract } from './media-suite.ts';

const server = process.env.TEST_POSTGRES_URL;
if (!server) {
  console.warn(
    'PostgreSQL tests skipped: TEST_POSTGRES_URL is not set (scripts/with-postgres.sh npm test starts a server).',
  );
}

/** A database of this run's own. */
const database = `voice_${randomBytes(6).toString('hex')}`;
const url = server ? Object.assign(new URL(server), { pathname: `/${database}` }).href : '';

async function admin(statement: string): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  await client.query(statement).finally(() => client.end());
}

describe.skipIf(!server)('the store on PostgreSQL', () => {
  beforeAll(() => admin(`create database ${database}`));
  afterAll(() => admin(`drop database ${database} with (force)`));

  storeContract(() => openStore({ engine: 'postgres', url, node: 'contract' }));
  approvalStoreContract(() => openStore({ engine: 'postgres', url, node: 'contract' }));
  mediaStoreContract(() => openStore({ engine: 'postgres', url, node: 'media' }));

  it('wakes whoever watches when another node changes an approval, and says when it is cut off', async () => {
    const open = (node: string) => openStore({ engine: 'postgres', url, node });
    const [one, two] = await Promise.all([open('watcher'), open('changer')]);
    const woken = Promise.withResolvers<void>();
    const since = await one.lastApprovalChange();
    const watch = await one.watchApprovals!(() => woken.resolve());

    const { id, changeNo } = await two.insertApproval(newApproval());
    await woken.promise;

    expect((await one.listApprovalChanges(since, 10)).map((row) => row.id)).toContain(id);
    expect(changeNo).toBeGreaterThan(since);
    expect(watch.isOpen).toBe(true);
    await admin(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'nanobot-realtime watch'`,
    );
    await expect.poll(() => watch.isOpen).toBe(false);
    const again = await one.watchApprovals!(() => {});
    expect(again.isOpen).toBe(true);
    for (let open_ = 1; open_ < MAX_WATCHES; open_++) await one.watchApprovals!(() => {});
    await expect(one.watchApprovals!(() => {})).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await Promise.all([one.close(), two.close()]);
    expect(again.isOpen).toBe(false);
  });

  it('numbers the changes of many nodes in the order in which they are there to be read', async () => {
    const open = (node: string) => openStore({ engine: 'postgres', url, node });
    const nodes = await Promise.all([open('n1'), open('n2'), open('n3')]);
    let last = await nodes[0]!.lastApprovalChange();
    const first = last;
    const seen: string[] = [];
    let isDone = false;
    const written = Promise.all(
      nodes.flatMap((node) => Array.from({ length: 15 }, () => node.insertApproval(newApproval()))),
    ).finally(() => {
      isDone = true;
    });
    // A reader that only ever goes forward misses nothing.
    for (let more = true; more; ) {
      more = !isDone;
      for (const row of await nodes[0]!.listApprovalChanges(last, 100)) {
        last = row.changeNo;
        seen.push(row.id);
      }
    }
    const ids = (await written).map((row) => row.id);

    expect(new Set(seen)).toEqual(new Set(ids));
    expect(last).toBe(first + ids.length);
    await Promise.all(nodes.map((node) => node.close()));
  });

  it('leaves the live calls of other nodes alone when one restarts', async () => {
    const open = (node: string) => openStore({ engine: 'postgres', url, node });
    const [one, two] = await Promise.all([open('one'), open('two')]);
    const begin = (store: Store, id: string) =>
      store.beginCall({
        id,
        sessionKey: `realtime:${id}`,
        carrier: 'wav',
        provider: 'command',
        identityStrength: 'none',
        startedAt: 1,
      });
    await begin(one, 'of-one');
    await begin(two, 'of-two');

    const closed = await one.closeStaleCalls(9);

    expect(closed).toBe(1);
    expect((await two.getCall('of-one'))?.endReason).toBe('crashed');
    expect((await one.getCall('of-two'))?.endedAt).toBeNull();
    await Promise.all([one.close(), two.close()]);
  });

  it('gives a delivery that its node left lying to another one, by a way that needs no call', async () => {
    const open = (node: string) => openStore({ engine: 'postgres', url, node });
    const [one, two] = await Promise.all([open('left'), open('takes')]);
    const now = 1_600_000_000_000;
    const queue = async (route: 'sms' | 'spoken') => {
      const callId = randomBytes(16).toString('hex');
      const sessionKey = `realtime:${callId}`;
      const event = { callId, turn: 1 };
      await one.beginCall({
        id: callId,
        sessionKey,
        carrier: 'twilio',
        provider: 'command',
        identityStrength: 'attested',
        startedAt: now,
      });
      await one.openTurn({ callId, turn: 1, sessionKey, startedAt: now });
      const target = { route, address: '+15550100' } as const;
      const common = { tenant: 'acme', createdAt: now, expiresAt: now + 86_400_000, kind: 'image' } as const;
      const call = {
        callId,
        tenant: 'acme',
        sessionKey,
        revision: 'r',
        tools: ['send_chart'],
        createdAt: now,
      };
      await one.recordCallMedia({ ...call, targets: [target] });
      const file = { ...common, id: `att_${callId}`, mime: 'image/png', name: 'a.png', size: 3 };
      await one.putAttachment({ ...file, sha256: callId + callId });
      await one.bindAttachment('acme', file.id, event, now);
      const text = { caption: 'A', fallback: 'An A.', requestId: 'r', traceId: callId };
      await one.addIntent({ ...common, ...text, event, toolCallId: 't', attachmentId: file.id, target }, 5);
      const audit = { id: callId, at: now, tenant: 'acme', type: 'tool.executed', event } as const;
      await one.recordExecuted(event, 't', { ...audit, tool: 'send_chart', detail: null });
      const tool = { callId: 't', name: 'send_chart', args: '{}', output: 'ok', isError: false };
      await one.commitTurn(callId, 1, { tools: [tool], replies: 'release' });
      return callId;
    };
    const sms = await queue('sms');
    const spoken = await queue('spoken');
    const claim = (store: typeof two, at: number, takesOver: boolean) =>
      store.claimOutbox({
        owner: 'w',
        now: at,
        leaseMs: 1000,
        limit: 10,
        ...(takesOver && { takeOver: { routes: ['sms'] as const, afterMs: 60_000 } }),
      });

    expect(await claim(two, now + 200_000, false)).toEqual([]);
    const taken = await claim(two, now + 200_000, true);
    expect(taken.map(({ row, isForeign }) => [row.event.callId, isForeign])).toEqual([[sms, true]]);
    // Whose attempt it is, nobody else takes; the one that is spoken is left to its own node.
    expect(await claim(two, now + 200_000, true)).toEqual([]);
    const own = await claim(one, now + 200_000, false);
    expect(own.map(({ row, isForeign }) => [row.event.callId, isForeign])).toEqual([[spoken, false]]);
    await Promise.all([one.close(), two.close()]);
  });

  it('takes many nodes that start at once on an empty database', async () => {
    const other = `${database}_race`;
    await admin(`create database ${other}`);
    const target = Object.assign(new URL(url), { pathname: `/${other}` }).href;

    const stores = await Promise.all(
      ['a', 'b', 'c', 'd'].map((node) => openStore({ engine: 'postgres', url: target, node })),
    );

    await Promise.all(stores.map((store) => store.ping()));
    await Promise.all(stores.map((store) => store.close()));
    await admin(`drop database ${other}`);
  });

  it('takes a bounded number of operations at once, and more once they are done', async () => {
    const store = await openStore({ engine: 'postgres', url });
    const pings = Array.from({ length: MAX_PENDING_OPERATIONS }, () => store.ping());

    await expect(store.ping()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await Promise.all(pings);

    await expect(store.ping()).resolves.toBeUndefined();
    await store.close();
  });

  it('refuses requests once it is closed', async () => {
    const store = await openStore({ engine: 'postgres', url });
    await store.close();
    await store.close();

    await expect(store.ping()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});

describe('a PostgreSQL that does not answer', () => {
  it('is refused with a code', async () => {
    const open = openStore({ engine: 'postgres', url: 'postgres://nobody@127.0.0.1:1/none' });

    await expect(open).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' });
  });
});
