// Elsewhere: the arguments of parallel calls were collected in one place, so that of three calls only the last ran.

import { describe, expect, it } from 'vitest';
import { call, raw, say } from '../../src/testing/index.ts';
import { callerSays, hangUp, placeCall } from './line.ts';

describe('bug 33: three calls', () => {
  it('whose arguments come interleaved all run, with the arguments that are theirs', async () => {
    const delta = (n: number, text: string) =>
      raw({
        type: 'response.function_call_arguments.delta',
        response_id: 'resp_any',
        item_id: `item_${n}`,
        output_index: n,
        call_id: `call_${n}`,
        delta: text,
      } as { type: string });
    const line = await placeCall({
      tools: { ask: { latencyMs: 100, outcome: (args) => `answer ${JSON.stringify(args)}` } },
      turns: ({ heard }) =>
        heard === null
          ? [say('Three answers.')]
          : [
              ...['{"n"', ':'].flatMap((text) => [0, 1, 2].map((n) => delta(n, text))),
              ...[2, 0, 1].map((n) => delta(n, `${n}}`)),
              ...[0, 1, 2].map((n) => call('ask', { n })),
            ],
    });
    const { clock, fake, gateway } = line;
    await callerSays(line);
    await clock.advance(5000);

    expect(gateway.calls.map(({ args }) => args)).toEqual([{ n: 0 }, { n: 1 }, { n: 2 }]);
    const outputs = fake.session
      .receivedOf('conversation.item.create')
      .filter(({ item }) => item.type === 'function_call_output');
    expect(outputs).toHaveLength(3);
    expect(fake.session.receivedOf('response.create')).toHaveLength(1);
    await hangUp(line);
  });
});
