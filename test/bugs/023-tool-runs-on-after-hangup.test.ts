// Elsewhere: the caller hung up and the tool ran on for ever; its result was then sent to a conversation that was over.

import { describe, expect, it } from 'vitest';
import { call } from '../../src/testing/index.ts';
import { callerSays, placeCall } from './line.ts';

const hanging = (tool: string, parts: object = {}) =>
  placeCall({
    tools: { [tool]: { outcome: { type: 'hang' }, ...parts } },
    turns: () => [call(tool)],
    config: { limits: { toolTimeoutS: 60, fillerAfterMs: 60_000 } },
  });

describe('bug 23: a tool that hangs when the caller is gone', () => {
  it.each(['hangup', 'reset'] as const)(
    'and only reads is aborted within 100 ms of %s, and the line is free',
    async (how) => {
      const line = await hanging('read_file');
      const { carrier, clock, desk, ended, fake, gateway } = line;
      await callerSays(line);
      await clock.waitFor('the tool', () => gateway.calls.length === 1);
      await clock.advance(1000);

      const goneAt = clock.now();
      carrier[how]();
      await clock.advance(100);

      expect((gateway.calls[0]!.abortedAtMs ?? Number.POSITIVE_INFINITY) - goneAt).toBeLessThanOrEqual(100);
      expect(desk.activeCalls).toBe(0);
      expect(ended).toHaveLength(1);
      const outputs = fake.session
        .receivedOf('conversation.item.create')
        .filter(({ item }) => item.type === 'function_call_output');
      expect(outputs).toEqual([]);
      expect(gateway.running).toEqual([]);
      await clock.advance(5000);
      expect(clock.pendingTimers).toBe(0);
    },
  );

  it('and does not heed its abort holds nothing of the call all the same', async () => {
    const line = await hanging('read_file', { abortable: false });
    const { carrier, clock, desk, ended, gateway } = line;
    await callerSays(line);
    await clock.waitFor('the tool', () => gateway.calls.length === 1);

    carrier.hangup();
    await clock.advance(3000);

    expect(desk.activeCalls).toBe(0);
    expect(ended).toHaveLength(1);
    expect(clock.pendingTimers).toBe(0);
  });

  it('and acts on the world may finish, but not beyond its deadline', async () => {
    const line = await hanging('send_email');
    const { carrier, clock, desk, gateway } = line;
    await callerSays(line);
    await clock.waitFor('the tool', () => gateway.calls.length === 1);
    const startedAt = clock.now();
    await clock.advance(1000);

    carrier.hangup();
    await clock.advance(3000);
    expect(desk.activeCalls).toBe(0);
    expect(gateway.calls[0]!.abortedAtMs).toBeNull();
    await clock.advance(70_000);

    expect((gateway.calls[0]!.abortedAtMs ?? Number.POSITIVE_INFINITY) - startedAt).toBeLessThanOrEqual(
      60_200,
    );
    expect(clock.pendingTimers).toBe(0);
  });
});
