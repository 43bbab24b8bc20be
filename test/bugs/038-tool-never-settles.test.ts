// Elsewhere: a tool that never settled blocked every call after it.

import { describe, expect, it } from 'vitest';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, placeCall } from './line.ts';

describe('bug 38: a tool that never settles', () => {
  it.each([
    ['heeds its abort', true],
    ['does not', false],
  ])('and %s blocks no later call and is answered for at its deadline', async (_, abortable) => {
    const line = await placeCall({
      tools: { list_dir: { outcome: { type: 'hang' }, abortable }, look: 'seen' },
      hears: ['list', 'look', 'nothing'],
      turns: ({ heard, toolOutputs }) => {
        if (heard === 'list') return [call('list_dir', {}, 'call_slow')];
        if (heard === 'look') return [call('look', {}, 'call_fast')];
        return toolOutputs.length > 0 ? [say('I see.', { durationMs: 300 })] : [];
      },
      config: { limits: { toolTimeoutS: 8, fillerAfterMs: 60_000 } },
    });
    const { clock, fake, gateway } = line;
    await callerSays(line);
    await clock.waitFor('the slow tool', () => gateway.calls.length === 1);
    const startedAt = clock.now();
    await callerSays(line);
    await clock.advance(1000);
    expect(gateway.callsOf('look')).toHaveLength(1);

    await clock.advance(9000);

    const outputs = new Map(
      fake.session.received.flatMap((event) =>
        event.type === 'conversation.item.create' && event.item.type === 'function_call_output'
          ? [[event.item.call_id, event.item.output] as const]
          : [],
      ),
    );
    expect(outputs.get('call_fast')).toBe('seen');
    expect(outputs.get('call_slow')).toMatch(/did not answer in time/);
    expect(
      (gateway.callsOf('list_dir')[0]!.abortedAtMs ?? Number.POSITIVE_INFINITY) - startedAt,
    ).toBeLessThanOrEqual(8200);
    await hangUp(line);
  });

  it('and wants to be alone frees its place for the next of its kind', async () => {
    const line = await placeCall({
      tools: { exec: { outcome: (args) => ((args as { n: number }).n === 1 ? { type: 'hang' } : 'ran') } },
      turns: ({ heard }) =>
        heard === null ? [say('Both.')] : [call('exec', { n: 1 }), call('exec', { n: 2 })],
      config: { limits: { toolTimeoutS: 5, fillerAfterMs: 60_000 } },
    });
    const { clock, gateway } = line;
    await callerSays(line);
    await clock.advance(3000);
    expect(gateway.calls).toHaveLength(1);

    await clock.advance(4000);

    expect(gateway.calls.map(({ args }) => args)).toEqual([{ n: 1 }, { n: 2 }]);
    expect(gateway.calls[1]!.result?.content).toBe('ran');
    await hangUp(line);
  });
});
