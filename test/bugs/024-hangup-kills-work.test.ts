// Elsewhere, the opposite: a hang-up killed work that should have outlived the call, and there was no way to say so.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { defaultToolPolicy } from '../../src/call/index.ts';
import { projectTurns, Sessions } from '../../src/host/sessions/index.ts';
import { openStore, type Store } from '../../src/store/index.ts';
import { call } from '../../src/testing/index.ts';
import { callerSays, placeCall } from './line.ts';

describe('bug 24: work that should outlive the call', () => {
  it.each([10, 500, 2900])('goes on to its end, once, when the caller hangs up after %i ms', async (ms) => {
    const line = await placeCall({
      tools: { send_email: { latencyMs: 3000, outcome: 'sent' } },
      turns: () => [call('send_email', { to: 'a' })],
    });
    const { carrier, clock, gateway } = line;
    await callerSays(line);
    await clock.waitFor('the tool', () => gateway.calls.length === 1);
    await clock.advance(ms);

    carrier.hangup();
    await clock.advance(10_000);

    expect(gateway.calls).toHaveLength(1);
    expect(gateway.calls[0]).toMatchObject({
      abortedAtMs: null,
      result: { content: 'sent', isError: false },
    });
    expect(clock.pendingTimers).toBe(0);
  });

  it('and its outcome is in the store, though the turn was over', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'bug-24-'));
    const store = await openStore({ engine: 'sqlite', file: join(folder, 'a.db') });
    try {
      const line = await placeCall({
        tools: { send_email: { latencyMs: 3000, outcome: 'sent' } },
        turns: () => [call('send_email', { to: 'a' })],
        parts: { store },
      });
      const { carrier, clock, gateway, callId } = line;
      await callerSays(line);
      await clock.waitFor('the tool', () => gateway.calls.length === 1);
      await clock.advance(10);
      carrier.hangup();
      await clock.advance(10_000);

      const turns = await store.listTurns(`realtime:${callId}`, 10);
      const tools = turns.flatMap((turn) => turn.tools);
      expect(tools).toMatchObject([{ name: 'send_email', output: 'sent', isError: false }]);
    } finally {
      await store.close();
      rmSync(folder, { recursive: true });
    }
  });

  describe('and whose result is to be delivered', () => {
    const SAID = 'The tool send_email, begun on the phone, has ended since: sent';

    /** A call that hung up on a tool of this policy, which then ended; the store it left. */
    async function outlived(folder: string, onHangup: 'deliver' | 'finish') {
      const store = await openStore({ engine: 'sqlite', file: join(folder, 'a.db') });
      const line = await placeCall({
        tools: { send_email: { latencyMs: 3000, outcome: 'sent' } },
        turns: () => [call('send_email', { to: 'a' })],
        parts: {
          store,
          toolPolicy: (name) => ({ ...defaultToolPolicy(60_000)(name), onHangup }),
        },
      });
      const { carrier, clock, gateway, callId } = line;
      await callerSays(line);
      await clock.waitFor('the tool', () => gateway.calls.length === 1);
      carrier.hangup();
      await clock.advance(10_000);
      return { store, key: `realtime:${callId}`, clock };
    }

    async function inFolder(work: (folder: string) => Promise<void>): Promise<void> {
      const folder = mkdtempSync(join(tmpdir(), 'bug-24-'));
      try {
        await work(folder);
      } finally {
        rmSync(folder, { recursive: true });
      }
    }

    const said = async (sessions: Sessions, key: string) =>
      (await sessions.get(key)).rows.filter(({ content }) => content === SAID).length;

    it('has it in its session once, however often that is brought up to date', () =>
      inFolder(async (folder) => {
        const { store, key, clock } = await outlived(folder, 'deliver');
        const sessions = new Sessions({ directory: join(folder, 'sessions'), clock });

        for (let n = 0; n < 3; n += 1) await projectTurns(store, sessions);

        expect(await said(sessions, key)).toBe(1);
        await store.close();
      }));

    it.each([
      ['before the session was written', false],
      ['after it was written and before that was on record', true],
    ])('has it there once after a crash %s', (_, isWritten) =>
      inFolder(async (folder) => {
        const { store, key, clock } = await outlived(folder, 'deliver');
        const directory = join(folder, 'sessions');
        if (isWritten) {
          const dies = {
            listUnprojectedTurns: (limit: number) => store.listUnprojectedTurns(limit),
            markProjected: () => Promise.reject(new Error('the process died')),
          } as unknown as Store;
          await expect(projectTurns(dies, new Sessions({ directory, clock }))).rejects.toThrow('died');
        }
        await store.close();

        const next = await openStore({ engine: 'sqlite', file: join(folder, 'a.db') });
        await next.closeStaleCalls(clock.wallNow());
        const sessions = new Sessions({ directory, clock });
        await projectTurns(next, sessions);

        expect(await said(sessions, key)).toBe(1);
        await next.close();
      }),
    );

    it('and not when it is to finish silently: its outcome is in the turn, and that is all', () =>
      inFolder(async (folder) => {
        const { store, key, clock } = await outlived(folder, 'finish');
        const sessions = new Sessions({ directory: join(folder, 'sessions'), clock });
        await projectTurns(store, sessions);

        expect(await said(sessions, key)).toBe(0);
        expect(JSON.stringify((await sessions.get(key)).rows)).toContain('sent');
        await store.close();
      }));
  });
});
