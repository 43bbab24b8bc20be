// Elsewhere, the opposite: a hang-up killed work that should have outlived the call, and there was no way to say so.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../src/store/index.ts';
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
});
