import { randomBytes } from 'node:crypto';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openStore, type Store } from '../../src/store/index.ts';
import { MAX_PENDING_OPERATIONS } from '../../src/store/postgres-store.ts';
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
