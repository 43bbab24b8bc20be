// Elsewhere: what a person had approved under one call id was then done with other arguments under the same id.

import { describe, expect, it } from 'vitest';
import { call, raw, say } from '../../src/testing/index.ts';
import { settle, startCall } from '../call/harness.ts';
import { callerSays, hangUp, placeCall } from './line.ts';

const again = (args: string) =>
  raw({
    type: 'response.output_item.done',
    response_id: 'resp_again',
    output_index: 0,
    item: {
      type: 'function_call',
      id: 'item_again',
      call_id: 'call_1',
      name: 'pay',
      arguments: args,
      status: 'completed',
    },
  } as { type: string });

describe('bug 28: a call id used a second time', () => {
  it.each([
    ['while the first runs', 5000],
    ['after it was answered', 10],
  ])('with other arguments, %s, runs nothing and answers nothing', async (_, latencyMs) => {
    const line = await placeCall({
      tools: { pay: { latencyMs, outcome: 'paid' } },
      turns: ({ index }) => {
        if (index === 0) return [call('pay', { amount: 5 }, 'call_1')];
        return [again('{"amount":500}'), say('Fine.')];
      },
      config: { limits: { fillerAfterMs: 60_000 } },
    });
    const { clock, fake, gateway } = line;
    await callerSays(line);
    await clock.advance(1000);
    await callerSays(line);
    await clock.advance(8000);

    expect(gateway.calls.map(({ args }) => args)).toEqual([{ amount: 5 }]);
    const outputs = fake.session
      .receivedOf('conversation.item.create')
      .filter(({ item }) => item.type === 'function_call_output');
    expect(outputs).toHaveLength(1);
    await hangUp(line);
  });

  it('by an adapter that lets it through is caught behind it too', async () => {
    const test = startCall();
    const model = test.models.current;
    const responseId = model.respond();
    model.call('call_1', 'send_email', '{"amount":5}');
    await settle();

    model.emit('toolCall', { responseId, callId: 'call_1', name: 'send_email', args: '{"amount":500}' });
    model.done();
    await settle();
    test.gateway.pending[0]!.finish('sent');
    await settle();

    expect(test.gateway.calls).toEqual(['send_email']);
    expect(test.violations).toEqual([]);
  });
});
