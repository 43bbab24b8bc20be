// Elsewhere: questions that were asked at once shared the first one's promise, so two of three were never asked and all
// got the same answer.

import { describe, expect, it } from 'vitest';
import { call, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, placeCall } from './line.ts';

describe('bug 27: three calls at once', () => {
  it('each get their own answer, released out of order, and one continuation follows', async () => {
    const latency: Record<string, number> = { a: 900, b: 100, c: 500 };
    const line = await placeCall({
      parts: {
        gateway: {
          getToolDefinitions: () => [],
          executeTool: async (_key, _name, args) => {
            const { q } = JSON.parse(String(args)) as { q: string };
            await new Promise<void>((resolve) => void line.clock.setTimeout(resolve, latency[q]!));
            return { content: `answer ${q}`, isError: false };
          },
        },
      },
      turns: ({ heard }) =>
        heard === null
          ? [say('Three answers.')]
          : ['a', 'b', 'c'].map((q) => call('ask', { q }, `call_${q}`)),
    });
    const { clock, fake } = line;
    await callerSays(line);
    await clock.advance(5000);

    const outputs = fake.session.received.flatMap((event) =>
      event.type === 'conversation.item.create' && event.item.type === 'function_call_output'
        ? [[event.item.call_id, event.item.output]]
        : [],
    );
    expect(outputs).toEqual([
      ['call_b', 'answer b'],
      ['call_c', 'answer c'],
      ['call_a', 'answer a'],
    ]);
    expect(fake.session.receivedOf('response.create')).toHaveLength(1);
    await hangUp(line);
  });
});
