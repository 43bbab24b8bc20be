// Elsewhere: a live call was reaped because it had never been marked as answered; dead calls came back after a restart
// and held the only line; a failed write left a call that nobody could end; hang-ups overlapped.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/index.ts';
import { say } from '../../src/testing/index.ts';
import { MemoryStore } from '../call/harness.ts';
import { tempDir } from '../store/temp.ts';
import { callerSays, hangUp, heardMs, openExchange, placeCall } from './line.ts';

describe('bug 66: what lives and what does not', () => {
  it('a call without a word from the carrier but its audio lives for as long as that comes', async () => {
    const line = await placeCall({
      config: { limits: { silenceTimeoutS: 3600 } },
      turns: () => [say('Still here.', { durationMs: 900 })],
    });
    const { carrier, clock } = line;
    await clock.advance(400_000);
    const from = carrier.nowMs;
    await callerSays(line);
    await clock.advance(3000);

    expect(heardMs(carrier, from)).toBeGreaterThanOrEqual(880);
    await hangUp(line);
  });

  it('a call whose audio stops is over after the time in the config, and not before', async () => {
    const line = await placeCall({ config: { limits: { noMediaTimeoutS: 30, silenceTimeoutS: 3600 } } });
    const { carrier, clock, ended, desk } = line;
    await clock.advance(1000);
    carrier.pauseMedia();
    await clock.advance(28_000);
    expect(ended).toEqual([]);
    await clock.advance(4000);

    expect(ended).toMatchObject([{ reason: 'no_media' }]);
    expect(desk.activeCalls).toBe(0);
  });

  it('a call of two days ago is closed at the restart and holds no line', async () => {
    const file = join(tempDir('bug-66'), 'a.db');
    const first = await openStore({ engine: 'sqlite', file });
    await first.beginCall({
      id: 'old',
      sessionKey: 'realtime:old',
      carrier: 'twilio',
      provider: 'openai',
      identityStrength: 'none',
      startedAt: Date.UTC(2026, 0, 13),
    });
    await first.openTurn({
      callId: 'old',
      turn: 0,
      sessionKey: 'realtime:old',
      startedAt: Date.UTC(2026, 0, 13),
    });
    await first.close();

    const store = await openStore({ engine: 'sqlite', file });
    const closed = await store.closeStaleCalls(Date.UTC(2026, 0, 15));
    const again = await store.closeStaleCalls(Date.UTC(2026, 0, 16));
    const line = await placeCall({ parts: { store }, config: { limits: { maxCalls: 1 } } });
    await hangUp(line);
    const rows = await store.listCalls();
    await store.close();

    expect([closed, again]).toEqual([1, 0]);
    expect(rows.find(({ id }) => id === 'old')).toMatchObject({
      endReason: 'crashed',
      endedAt: Date.UTC(2026, 0, 15),
    });
    expect(rows).toHaveLength(2);
  });

  it.each(['beginCall', 'openTurn', 'commitTurn', 'endCall'] as const)(
    'a store that throws once in %s frees the line all the same',
    async (method) => {
      class FailsOnce extends MemoryStore {
        failures = 0;
      }
      const store = new FailsOnce();
      const real = store[method].bind(store) as (...args: unknown[]) => Promise<never>;
      Object.assign(store, {
        [method]: (...args: unknown[]) =>
          store.failures++ === 0 ? Promise.reject(new Error('disk full')) : real(...args),
      });
      const exchange = openExchange({ parts: { store }, config: { limits: { maxCalls: 1 } } });
      const { clock, desk, ended } = exchange;
      for (let n = 0; n < 3; n += 1) {
        const { carrier, callId, call } = await exchange.dial();
        carrier.start();
        await clock.settle();
        await callerSays({ ...exchange, carrier, callId, call });
        await clock.advance(2000);
        carrier.hangup();
        await clock.advance(3000);
      }

      expect(store.failures).toBeGreaterThanOrEqual(1);
      expect(ended.map(({ reason }) => reason)).toEqual(['caller_hangup', 'caller_hangup', 'caller_hangup']);
      expect(desk.activeCalls + desk.pendingCalls).toBe(0);
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('a history that can not be read and a model that can not be reached leave no phantom', async () => {
    const exchange = openExchange({
      parts: { history: () => Promise.reject(new Error('unreadable')) },
      config: { limits: { maxCalls: 1 } },
      modelWire: () => (_request, sink) => {
        queueMicrotask(() => sink.failed(new Error('refused')));
        return { bufferedAmount: 0, send: () => {}, ping: () => {}, close: () => {}, terminate: () => {} };
      },
    });
    const { clock, desk } = exchange;
    for (let n = 0; n < 3; n += 1)
      await expect(exchange.dial()).rejects.toMatchObject({ code: 'MODEL_UNAVAILABLE' });
    await clock.advance(3000);

    expect(desk.activeCalls + desk.pendingCalls).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});
