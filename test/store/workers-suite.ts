import { expect, it } from 'vitest';
import type { FullStore } from '../../src/store/index.ts';

/** What workers of one gateway need of a store that they share; `open` gives the same database under another node. */
export function workersStoreContract(open: (node: string) => Promise<FullStore>): void {
  const begin = (store: FullStore, id: string, startedAt = 10) =>
    store.beginCall({
      id,
      sessionKey: `realtime:${id}`,
      carrier: 'twilio',
      provider: 'fake',
      identityStrength: 'none',
      startedAt,
    });

  it('closes the calls of one worker and nobody else’s, and none that its replacement has begun', async () => {
    const [zero, one, ten] = [await open('gate/0'), await open('gate/1'), await open('gate/10')];
    try {
      await begin(zero, 'of-0');
      await begin(one, 'of-1');
      await begin(ten, 'of-10');
      await begin(one, 'begun-later', 100);
      await one.openTurn({
        callId: 'begun-later',
        turn: 1,
        sessionKey: 'realtime:begun-later',
        startedAt: 100,
      });
      await one.openTurn({ callId: 'of-1', turn: 1, sessionKey: 'realtime:of-1', startedAt: 11 });

      expect(await zero.closeStaleCalls(50, 'gate/1')).toBe(1);

      const reasons = await Promise.all(
        ['of-0', 'of-1', 'of-10', 'begun-later'].map(async (id) => (await zero.getCall(id))?.endReason),
      );
      expect(reasons).toEqual([null, 'crashed', null, null]);
      const [open1] = await zero.listTurns('realtime:begun-later', 5);
      const [closed] = await zero.listTurns('realtime:of-1', 5);
      expect([open1?.finalAt, closed?.finalAt]).toEqual([null, 50]);
      // The gateway's own start is for all of its workers.
      expect(await zero.closeStaleCalls(200, 'gate')).toBe(3);
    } finally {
      await Promise.all([zero, one, ten].map((store) => store.close()));
    }
  });

  it('takes writes of several at once, and each of them counts', async () => {
    const stores = await Promise.all(['busy/0', 'busy/1', 'busy/2'].map(open));
    try {
      await Promise.all(
        stores.flatMap((store, who) =>
          Array.from({ length: 30 }, async (_, index) => {
            const id = `busy-${who}-${index}`;
            await begin(store, id);
            await store.openTurn({ callId: id, turn: 1, sessionKey: `realtime:${id}`, startedAt: 11 });
            await store.commitTurn(id, 1, { userText: 'yes', finalAt: 12 });
            await store.endCall(id, 13, 'caller_hangup');
          }),
        ),
      );
      const ended = (await stores[0]!.listCalls({ limit: 1000 })).filter(({ id }) => id.startsWith('busy-'));
      expect(ended.filter(({ endReason }) => endReason === 'caller_hangup')).toHaveLength(90);
    } finally {
      await Promise.all(stores.map((store) => store.close()));
    }
  });
}
